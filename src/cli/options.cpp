#include "cli/options.h"

#include <omp.h>

#include <algorithm>
#include <charconv>

#include "base/cpu.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/config_file.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::int64_t kLargestImage = 1 << 14;
constexpr std::int64_t kMostClasses = 1 << 20;

void check_range(const char* option, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw UsageError(
        {.where = option,
         .got = std::to_string(value),
         .expected = "expected " + std::to_string(least) + " to " + std::to_string(most)});
}

// The value that follows a long option, the last one given; empty if it is not there.
std::string value_behind(const std::vector<std::string>& words, const std::string& option) {
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(option + "=")) value = words[i].substr(option.size() + 1);
  }
  return value;
}

}  // namespace

nn::Size2 parse_image_size(const std::string& text) {
  const auto refuse = [&] {
    throw UsageError({.where = "--image",
                      .got = "'" + text + "'",
                      .expected = "expected a size like 299 or 200x300"});
  };
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size()) refuse();
    check_range("--image", value, 1, kLargestImage);
    return value;
  };
  const std::vector<std::string_view> parts = split(text, 'x');
  if (parts.size() > 2) refuse();
  return parts.size() == 2 ? nn::Size2(number(parts[0]), number(parts[1]))
                           : nn::Size2(number(parts[0]));
}

void ModelOptions::add_to(CLI::App& command) {
  command.add_option("--model", model, "network of the zoo (see `plimsoll summary --list`)")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--batch", [this](const std::string& text) { set_batch(text); },
          "images per update, or max: the largest that fits the budget")
      ->default_str(std::to_string(batch));
  command.add_option("--image", image, "input size: HxW or one number");
  command.add_option("--channels", channels, "input channels");
  command.add_option("--classes", classes, "width of the head");
  command.add_option("--dropout", dropout, "rate before the head; default: the network's own");
  command.add_flag("--aux", auxiliary, "add the auxiliary head (inception_v3)");
}

void ModelOptions::set_batch(const std::string& text) {
  batch_max = text == "max";
  if (batch_max) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), batch);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(
        {.where = "--batch", .got = "'" + text + "'", .expected = "expected a number or max"});
  check_range("--batch", batch, 1, kLargestBatch);
}

nn::Input ModelOptions::input() const {
  check_range("--batch", batch, 1, kLargestBatch);
  const zoo::Network& chosen = network();
  const std::int64_t depth = channels == 0 ? chosen.channels : channels;
  check_range("--channels", depth, 1, 4096);
  return {.batch = batch,
          .channels = depth,
          .image = image.empty() ? nn::Size2(chosen.image) : parse_image_size(image)};
}

std::int64_t ModelOptions::class_count() const {
  if (classes == 0) return network().classes;
  check_range("--classes", classes, 1, kMostClasses);
  return classes;
}

NetworkFactory ModelOptions::factory() const {
  const zoo::Options options{.classes = class_count(), .dropout = dropout, .auxiliary = auxiliary};
  return [build = network().build, options](nn::Builder& net) { return build(net, options); };
}

void CommonOptions::add_to(CLI::App& command) {
  command.add_option("--threads", threads, "default: the cores the process may use");
  command.add_flag("--json", json, "one JSON object on standard output");
  command.add_flag("--quiet", quiet, "no progress lines");
  command.add_option("--config", config,
                     "TOML file with any long option as a key; the command line wins");
}

int CommonOptions::apply_threads() const {
  // OMP_NUM_THREADS, which omp_get_max_threads() knows, may ask for fewer.
  const int count =
      threads ? check_threads(*threads) : std::min(usable_cores(), omp_get_max_threads());
  omp_set_dynamic(0);
  omp_set_num_threads(count);
  // OMP_THREAD_LIMIT and its kin leave fewer, and kernels that wait for the others would wait for
  // ever.
  int given = 1;
#pragma omp parallel
#pragma omp single
  given = omp_get_num_threads();
  omp_set_num_threads(given);
  return given;
}

void check_numbers(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_type_name() != "INT") continue;
    for (const std::string& text : option->results()) {
      std::int64_t value = 0;
      std::string_view digits = text;
      if (digits.starts_with('+')) digits.remove_prefix(1);
      if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec ==
          std::errc::result_out_of_range)
        throw UsageError(
            {.where = option->get_name(), .got = text, .expected = "expected a number below 2^63"});
    }
  }
}

std::vector<std::string> with_config(const CLI::App& command,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> result;
  const auto add = [&](const std::vector<std::string>& more) {
    result.insert(result.end(), more.begin(), more.end());
  };
  const std::string run = value_behind(words, "--resume");
  if (!run.empty() && command.get_option_no_throw("--resume") != nullptr) {
    add(config_words(command, std::filesystem::path(run) / "args.toml"));
    result.push_back("--out=" + run);
  }
  const std::string config = value_behind(words, "--config");
  if (!config.empty()) add(config_words(command, config));
  add(words);
  return result;
}

}  // namespace plimsoll::cli
