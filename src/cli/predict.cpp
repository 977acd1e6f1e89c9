#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "data/scan/scan.h"
#include "data/source/file_source.h"
#include "machine/crowding.h"
#include "machine/team.h"
#include "step/evaluation.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

struct Settings {
  CommonOptions common;
  std::optional<std::int64_t> threads;
  job::ModelSettings model;
  job::MemorySettings memory;
  std::string weights;
  std::string normalise;  // empty: as the weights say
  std::vector<std::string> files;
  std::int64_t top = 5;
  bool csv = false;
  bool logits = false;
};

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::vector<std::string> known{".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif"};
  return std::find(known.begin(), known.end(), ending) != known.end();
}

void add_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_picture(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

// Files as they are, folders with all pictures below them, patterns that the shell left alone.
std::vector<std::string> list_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    std::error_code error;
    if (fs::is_directory(word, error)) {
      add_folder(word, files);
    } else if (fs::exists(word, error) || word.find_first_of("*?[") == std::string::npos) {
      files.push_back(word);
    } else {
      glob_t matches{};
      if (::glob(word.c_str(), 0, nullptr, &matches) == 0)
        files.insert(files.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
      else
        files.push_back(word);  // told of as a file that is not there
      ::globfree(&matches);
    }
  }
  return files;
}

struct Listed {
  SourcePtr source;
  std::vector<Complaint> missing;
};

Listed make_source(const std::vector<std::string>& files) {
  Listed listed;
  const auto source = std::make_shared<FileSource>("files", "");
  for (const std::string& file : files) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (error)
      listed.missing.push_back(
          {.where = file, .got = error.message(), .expected = "expected a picture"});
    else
      source->add(file, Bytes{static_cast<std::int64_t>(size)}, 0);
  }
  source->finish({"any"});
  listed.source = source;
  return listed;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Writes predictions one by one, so that memory does not grow with the files.
class Printer {
 public:
  Printer(const Settings& settings, bool shares)
      : s_(settings),
        score_(!shares           ? "value"
               : settings.logits ? "logit"
                                 : "p") {
    if (s_.common.json) fmt::print("[");
    if (s_.csv && !s_.common.json) fmt::print("file,rank,class,{}\n", score_);
  }
  ~Printer() {
    if (s_.common.json) fmt::print("\n]\n");
  }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  void print(const std::string& file, const std::vector<Prediction>& guesses) {
    if (s_.common.json) {
      nlohmann::ordered_json json{{"file", file}, {"classes", nlohmann::ordered_json::array()}};
      for (const Prediction& guess : guesses)
        json["classes"].push_back({{"name", guess.name}, {score_, guess.score}});
      fmt::print("{}\n  {}", first_ ? "" : ",",
                 json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      first_ = false;
    } else if (s_.csv) {
      for (std::size_t rank = 0; rank < guesses.size(); ++rank)
        fmt::print("{},{},{},{:.6g}\n", csv_cell(file), rank + 1, csv_cell(guesses[rank].name),
                   guesses[rank].score);
    } else {
      std::string text;
      for (const Prediction& guess : guesses)
        text += fmt::format("  {} {}", guess.name,
                            score_ == "p" ? fmt::format("{:.1f} %", 100 * guess.score)
                                          : fmt::format("{:.3f}", guess.score));
      fmt::print("{}:{}\n", file, text);
    }
  }

 private:
  const Settings& s_;
  std::string score_;  // what scores are
  bool first_ = true;
};

int run(const Settings& s) {
  s.memory.check();
  if (s.top < 1)
    throw UsageError(
        {.where = "--top", .got = std::to_string(s.top), .expected = "expected at least 1"});
  const int threads = use_threads(s.threads);
  const CrowdMonitor crowding(threads);
  job::TrainedModel trained = job::find_trained(s.weights, s.model);
  trained.prepare_pictures(s.normalise);
  const std::vector<std::string> files = list_files(s.files);
  const Listed listed = make_source(files);
  std::vector<Complaint> bad = listed.missing;
  const auto tell_bad = [&] {
    for (const Complaint& complaint : bad)
      fmt::print(stderr, "plimsoll: {}: {}; {}\n", complaint.where, complaint.got,
                 complaint.expected);
    return bad.empty() ? 0 : 1;
  };
  if (listed.source->size() == 0) {
    if (bad.empty())
      throw DataError({.where = s.files.empty() ? "FILES" : s.files[0],
                       .got = "there is no picture in it",
                       .expected = "expected files, folders or patterns with pictures"});
    return tell_bad();
  }
  const job::Budget budget = budget_of(s.memory);
  const ScanReport report =
      scan(*listed.source, {.workers = threads,
                            .channels = static_cast<int>(trained.model.input().channels),
                            .memory = job::left_to_scan(budget)});
  for (const BadSample& sample : report.bad) bad.push_back(sample.complaint);
  if (std::ssize(report.bad) == listed.source->size()) return tell_bad();
  const SourcePtr source = without_bad(listed.source, report);
  job::OpenedModel opened =
      job::open_trained(trained, source, trained.class_names, report.largest, budget, threads);
  Trainer& trainer = opened.trainer;
  Pipeline pipeline(source, trained.pipeline(opened.workers), report.largest);
  {
    Printer printer(s, opened.trainer.task().predicts_shares());
    pipeline.start(0, 0);
    while (const std::optional<Batch> batch = pipeline.next()) {
      const StepTensors tensors = trainer.tensors(Purpose::evaluate, batch->count);
      fill_inputs(*batch, trained.normalisation(), trainer.task(), tensors, 0, batch->count);
      trainer.evaluate_step(batch->count);
      for (std::int64_t i = 0; i < batch->count; ++i)
        printer.print(
            source->path(batch->samples[static_cast<std::size_t>(i)]),
            trainer.task().predict(tensors, *batch, i, static_cast<std::size_t>(s.top), s.logits));
    }
  }
  if (!s.common.quiet && !s.common.json)
    fmt::print(stderr, "{}\n", memory_text(opened.predicted_bytes));
  return tell_bad();
}

}  // namespace

Entry add_predict(CLI::App& command) {
  const auto s = std::make_shared<Settings>();
  s->model.model.clear();  // as the weights say
  add_options(command, s->model);
  add_options(command, s->memory);
  add_threads(command, s->threads);
  s->common.add_to(command);
  add_normalise(command, s->normalise);
  command.add_option("RUN_OR_WEIGHTS", s->weights, "a run directory, or a file of weights")
      ->required();
  command.add_option("FILES", s->files, "pictures, folders of them, or patterns")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--top", s->top, "so many classes for each picture")->capture_default_str();
  command.add_flag("--csv", s->csv, "file,rank,class,p");
  command.add_flag("--logits", s->logits, "scores before softmax instead of probabilities");
  command.footer(
      "Examples:\n"
      "  plimsoll predict runs/xception photo.jpg\n"
      "  plimsoll predict runs/xception photos/ --csv --top 1 > predictions.csv");
  return [s] { return run(*s); };
}

}  // namespace plimsoll::cli
