#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_words.h"
#include "cli/exit_code.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/rank_process.h"
#include "cli/standard_streams.h"
#include "machine/primitive_cache.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kWelcome =
    "Plimsoll trains convolutional vision networks inside the memory it is given. It tells before\n"
    "the first step what a run needs, plans it into --memory or refuses, watches it, and can be\n"
    "killed at any moment and resumed to the same bits. Three commands to try:\n"
    "\n"
    "  plimsoll check photos/                                     is the data sound?\n"
    "  plimsoll plan --model xception --batch 16 --memory 2GiB    does it fit, and how?\n"
    "  plimsoll train fashion-mnist --epochs 2                    train something now\n"
    "\n"
    "`plimsoll --help` lists all commands, `plimsoll help COMMAND` tells about one.\n";

int complain(const std::exception& error, int code) {
  // What every rank finds wrong is told once.
  if (speaks()) std::fprintf(stderr, "plimsoll: %s\n", error.what());
  return code;
}

int run(const std::vector<std::string>& words) {
  CLI::App app{"Trains convolutional vision networks inside the memory it is given.", "plimsoll"};
  app.set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION);
  app.require_subcommand(0, 1);
  app.footer(
      "Try:\n"
      "  plimsoll train fashion-mnist --model inception_mini --epochs 2\n"
      "  plimsoll plan --model xception --batch 32 --memory 2GiB\n"
      "  plimsoll bench --model inception_v3 --batch 8 --layers\n"
      "`plimsoll help COMMAND` tells about one.");
  std::map<const CLI::App*, Entry> entries;
  const auto add = [&](const char* name, const char* about, Entry (*make)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, about);
    command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    entries[command] = make(*command);
    // Anew, so that it stands last.
    command->set_help_flag("-h,--help", "Print this help message and exit");
  };
  add("plan", "what a run needs, before it starts, and how it fits a budget", add_plan);
  add("summary", "layers, parameters and activation bytes of a network", add_summary);
  add("train", "train a network", add_train);
  add("eval", "loss, accuracy and confusion of trained weights on data", add_eval);
  add("predict", "classes of pictures", add_predict);
  add("import", "what a file of weights or of a network is, and whether it fits", add_import);
  add("export", "a trained network as a file for Keras, PyTorch or ONNX", add_export);
  add("find-lr", "which learning rate suits a run", add_find_lr);
  add("check", "what a run would meet: machine, container, every file of the data", add_check);
  add("top", "runs on this machine: memory, speed, loss, refreshed every second", add_top);
  add("bench", "speed of a training step, and where its time goes", add_bench);

  // For packagers, not in the help.
  if (words == std::vector<std::string>{"--manual"}) {
    std::fputs(manual_page(app, "plimsoll " PLIMSOLL_VERSION).c_str(), stdout);
    return kDone;
  }
  if (words == std::vector<std::string>{"--completion"}) {
    std::fputs(bash_completion(app).c_str(), stdout);
    return kDone;
  }
  std::vector<std::string> arguments = words;
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  try {
    if (!arguments.empty()) {
      const CLI::App* command = nullptr;
      std::vector<std::string> names;
      for (const auto& [known, entry] : entries) {
        names.push_back(known->get_name());
        if (names.back() == arguments[0]) command = known;
      }
      if (command == nullptr && arguments[0][0] != '-')
        throw UsageError({.where = "command line",
                          .got = "there is no command '" + arguments[0] + "'",
                          .expected = "expected one that `plimsoll --help` lists",
                          .hint = did_you_mean(nearest(arguments[0], names))});
      if (command != nullptr) {
        const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
        const std::vector<std::string> all = with_config(*command, rest);
        arguments.resize(1);
        arguments.insert(arguments.end(), all.begin(), all.end());
      }
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (speaks())
      std::fprintf(stderr, "plimsoll: command line: %s; see `plimsoll help%s`\n", error.what(),
                   words.empty() ? "" : (" " + words[0]).c_str());
    return kUsage;
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::fputs(kWelcome, stdout);
    return kDone;
  }
  if (!has_avx2_fma_f16c()) {
    std::fputs("plimsoll: processor: it lacks AVX2, FMA or F16C; these are needed (x86-64-v3)\n",
               stderr);
    return kFailed;
  }
  check_numbers(*chosen[0]);
  return entries.at(chosen[0])();
}

}  // namespace
}  // namespace plimsoll::cli

namespace {

// Libraries and compiled kernels use the stack without asking.
void check_stack() {
  constexpr rlim_t kLeast = 1 << 20;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kLeast)
    throw plimsoll::DataError({.where = "`ulimit -s`",
                               .got = std::to_string(limit.rlim_cur / 1024) + " KiB of stack",
                               .expected = "expected at least 1024",
                               .hint = "ulimit -s 8192"});
}

int run_and_complain(const std::vector<std::string>& words) {
  using namespace plimsoll;
  // What was printed is in the log, whoever ends the process.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    check_stack();
    return cli::run(words);
  } catch (const UsageError& error) {
    return cli::complain(error, cli::kUsage);
  } catch (const BudgetError& error) {
    return cli::complain(error, cli::kDoesNotFit);
  } catch (const std::bad_alloc&) {
    std::fputs("plimsoll: memory: the system has none left; a smaller batch or image needs less\n",
               stderr);
    return cli::kDoesNotFit;
  } catch (const std::exception& error) {
    return cli::complain(error, cli::kFailed);
  }
}

}  // namespace

int main(int count, char** words) {
  using namespace plimsoll;
  set_bug_handler([](std::string_view what, const char* file, int line) {
    std::fprintf(stderr, "plimsoll: this is a bug in Plimsoll: %.*s (%s:%d)\n",
                 static_cast<int>(what.size()), what.data(), file, line);
  });
  // A file that may not grow and a reader that went away are errors of a write, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  cli::keep_streams_going();
  use_no_primitive_cache();
  const int code = run_and_complain({words + 1, words + count});
  const int failure = cli::finish_standard_output();
  if (failure == 0) return code;
  std::fprintf(stderr, "plimsoll: standard output: cannot write: %s; expected room for it\n",
               std::generic_category().message(failure).c_str());
  return code == cli::kDone ? cli::kFailed : code;
}
