#include "job/training_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "dist/agreement.h"
#include "job/identity.h"

namespace plimsoll::job {
namespace {

// What was chosen or passed over in reading is said in the log of a run.
void note_sources(const TrainingSettings& settings, TrainingData& loaded) {
  const std::string& data = settings.data;
  for (const std::string& note : loaded.train->index().notes)
    loaded.notes.push_back(data + ": " + note);
  if (!loaded.validation) {
    if (loaded.train->index().part == "train" &&
        std::ranges::count(loaded.train->index().parts, "test") > 0)
      loaded.notes.push_back(data + ": the part test is left alone; --val " + data +
                             " validates on it");
  } else if (settings.val_split == 0) {
    for (const std::string& note : loaded.validation->index().notes)
      loaded.notes.push_back("validation: " + note);
  }
}

// What one source is found to be goes to `loaded`; what is bad is taken out of `source`. Returns
// the content of the rest.
std::uint64_t scan_source(const TrainingSettings& settings, const Budget& budget, int threads,
                          const OnScan& on_scan, SourcePtr& source, TrainingData& loaded) {
  std::vector<Complaint> bad = source->defects();
  dist::Group* const group = settings.place.group;
  const ScanReport report =
      scan(*source, {.workers = threads,
                     .channels = static_cast<int>(settings.model.input().channels),
                     .memory = left_to_scan(budget),
                     .progress =
                         [&](const ScanProgress& progress) {
                           if (on_scan) on_scan(progress);
                           return true;
                         },
                     .together = share_of_scan(group)});
  const bool stops = settings.bad_files == "stop";
  if (stops) check_fits(report, budget);
  for (const BadSample& sample : report.bad) bad.push_back(sample.complaint);
  loaded.largest = largest_of(loaded.largest, report.largest);
  if (&source == &loaded.train)
    if (const std::string note = grey_note(settings.model, report); !note.empty())
      loaded.notes.push_back(settings.data + ": " + note);
  if (!bad.empty() && stops) {
    std::string all;
    for (const Complaint& complaint : bad) all += "\n  " + complaint.where + ": " + complaint.got;
    throw DataError(
        {.where = settings.data,
         .got = fmt::format("{} of {} samples are bad:{}", bad.size(), source->size(), all),
         .expected = "expected pictures that can be read",
         .hint = "`plimsoll check` tells more; --bad-files skip leaves them out"});
  }
  if (!bad.empty()) {
    loaded.skipped.insert(loaded.skipped.end(), bad.begin(), bad.end());
    source = without_bad(source, report);
  }
  return content_of(report);
}

// What is told of boxes before anything is trained.
void settle_boxes(TrainingSettings& settings, TrainingData& loaded) {
  settings.boxes.settle(settings.model, *loaded.train, loaded.validation.get());
  const Index& index = loaded.train->index();
  if (index.unusable_boxes > 0 || index.crowds > 0)
    loaded.notes.push_back(fmt::format(
        "{}: of {} boxes {} cannot be used (empty, inverted or outside), {} are crowds; they are "
        "left out of training",
        settings.data, index.boxes, index.unusable_boxes, index.crowds));
  if (index.background > 0)
    loaded.notes.push_back(fmt::format("{}: {} pictures without boxes are trained on as background",
                                       settings.data, index.background));
  const std::int64_t base = settings.boxes.anchor_base;
  loaded.notes.push_back(coverage_text(anchor_coverage(settings.model, *loaded.train, base), base));
}

}  // namespace

namespace {

// All that is known of the data before its pictures are read.
TrainingData list_data(TrainingSettings& settings) {
  SourceOptions reading = settings.reading.source_options();
  reading.whole_voc = !settings.model.detects();
  TrainingData loaded{.train = open_source(settings.data, reading)};
  if (loaded.train->has_boxes() != settings.model.detects())
    throw UsageError(
        {.where = "DATA",
         .got = fmt::format("'{}' has {}, and {} {}", settings.data,
                            loaded.train->has_boxes() ? "boxes" : "one class per picture",
                            settings.model.title(),
                            settings.model.detects() ? "finds boxes" : "tells classes"),
         .expected = "expected data and a network that fit each other",
         .hint = settings.model.detects()
                     ? "Pascal VOC, COCO's JSON, TFRecords or a CSV with boxes"
                     : "--model retinanet_mini finds boxes; `plimsoll summary --list` has others"});
  if (settings.val_split > 0) {
    SplitSources parts =
        split(loaded.train, settings.val_split, static_cast<std::uint64_t>(settings.seed));
    loaded.train = parts.train;
    loaded.validation = parts.validation;
  } else {
    loaded.validation = open_validation(settings, *loaded.train, {});
  }
  note_sources(settings, loaded);
  settle_sizes(settings, *loaded.train);
  if (settings.model.detects()) settle_boxes(settings, loaded);
  return loaded;
}

// Ranks that list other files would scan shares of another whole.
void compare_listings(dist::Group* group, const TrainingData& listed) {
  if (group == nullptr) return;
  std::vector<dist::Fact> facts{{"data", fingerprint(*listed.train)}};
  facts.push_back({"validation", listed.validation ? fingerprint(*listed.validation) : "none"});
  dist::check_same(*group, facts, "all ranks train on the same files in the same way");
}

}  // namespace

ScanShare share_of_scan(dist::Group* group) {
  if (group == nullptr) return {};
  return {.share = group->rank(), .shares = group->ranks(), .gather = [group](const auto& mine) {
            return group->gather_texts(mine);
          }};
}

TrainingData load_data(TrainingSettings& settings, const Budget& budget, int threads,
                       const OnScan& on_scan) {
  dist::Group* const group = settings.place.group;
  TrainingData loaded = dist::make_on_all(group, [&] { return list_data(settings); });
  compare_listings(group, loaded);
  loaded.train_content = scan_source(settings, budget, threads, on_scan, loaded.train, loaded);
  if (loaded.validation)
    loaded.validation_content =
        scan_source(settings, budget, threads, on_scan, loaded.validation, loaded);
  return loaded;
}

SourcePtr open_validation(const TrainingSettings& settings, const Source& train,
                          const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const bool is_named = !settings.validation.empty();
  std::optional<SourceOptions> reading;
  if (is_named)
    reading = settings.reading.validation_options(settings.data, settings.validation, train);
  else if (settings.val_split == 0)
    reading = settings.reading.own_validation(settings.data, train);
  if (!reading) return nullptr;
  reading->progress = progress;
  return open_source(is_named ? settings.validation : settings.data, *reading);
}

// A network's own size and channels suit photographs; sets of small images bring theirs.
void settle_sizes(TrainingSettings& settings, const Source& source) {
  ModelSettings& model = settings.model;
  const auto classes = static_cast<std::int64_t>(source.class_names().size());
  if (model.classes == 0) model.classes = classes;
  if (model.image == kDataShape) {
    require(model.detects(), "--image", model.image, "a size; auto is for detectors");
    const nn::Input own = model.input();
    const Size canvas = canvas_for(source, {.height = own.image.h, .width = own.image.w});
    model.image = fmt::format("{}x{}", canvas.height, canvas.width);
  }
  MappedBytes buffer;
  const Encoded first = source.read(0, buffer);
  if (first.raw) {
    if (model.channels == 0) model.channels = first.raw->channels;
    if (model.image.empty())
      model.image = fmt::format("{}x{}", first.raw->height, first.raw->width);
  }
  const std::int64_t channels = model.input().channels;
  require(channels == 1 || channels == 3, "--channels", std::to_string(channels),
          "1 or 3: pictures are grey or coloured");
  require(model.class_count() >= classes, "--classes", std::to_string(model.class_count()),
          fmt::format("at least {}, the classes of the data", classes));
}

std::string grey_note(const ModelSettings& model, const ScanReport& report) {
  if (model.channels != 0 || model.input().channels != 1 || report.coloured == 0) return {};
  return fmt::format("{} takes grey pictures, and {} {} in colour; --channels 3 keeps the colour",
                     model.model, report.coloured,
                     report.coloured == 1 ? "picture is" : "pictures are");
}

std::shared_ptr<PipelineMemory> pipeline_memory(const TrainingSettings& settings,
                                                const TrainingData& data, const nn::Input& input,
                                                int workers) {
  Bytes largest = data.train->index().largest_encoded;
  if (data.validation) largest = std::max(largest, data.validation->index().largest_encoded);
  PipelineSettings reading = settings.pipeline(input, true, workers);
  // Of validation's batches a rank makes some, and those whole.
  if (data.validation) reading.window_most = input.batch;
  return std::make_shared<PipelineMemory>(reading, largest, data.largest);
}

}  // namespace plimsoll::job
