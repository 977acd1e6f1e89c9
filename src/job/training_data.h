// The pictures of a run, found and read once before it begins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/batch/pipeline_memory.h"
#include "data/data.h"
#include "job/training_settings.h"

namespace plimsoll::job {

// Sources without what the scan found bad, and the largest image of both.
struct TrainingData {
  SourcePtr train;
  SourcePtr validation;  // null: none
  LargestImage largest;
  std::uint64_t train_content = 0, validation_content = 0;  // see content_of
  std::vector<Complaint> skipped;
  std::vector<std::string> notes;  // what was chosen or passed over, for the log
};

using OnScan = std::function<void(const ScanProgress&)>;

// Lists DATA and what is validated on, reads every picture once with as many threads, and takes
// sizes and classes from it where none were named. Reading stays well within the budget. DataError
// that lists what is bad, unless bad files are to be skipped. `on_scan`, if any, is called from
// this thread some times a second; the seconds of the second source begin at 0 again. With other
// ranks (settings.place) all call it; each reads its share, all find the same, and what one of them
// cannot list, or lists differently, all throw.
TrainingData load_data(TrainingSettings& settings, const Budget& budget, int threads,
                       const OnScan& on_scan);

// What this rank scans of a source that all ranks of `group` have listed; null: all of it.
ScanShare share_of_scan(dist::Group* group);

// Lists what is validated on: as named, or DATA's own part for it; null: nothing. Nothing is read
// yet. `progress`: bytes listed, and in all.
SourcePtr open_validation(const TrainingSettings& settings, const Source& train,
                          const std::function<void(std::int64_t, std::int64_t)>& progress);

// Takes sizes and classes from the data where none were named. UsageError where they contradict.
void settle_sizes(TrainingSettings& settings, const Source& source);

// What to know when pictures in colour meet a network that by itself takes grey ones; else empty.
std::string grey_note(const ModelSettings& model, const ScanReport& report);

// For pipelines of training and validation, which take turns.
std::shared_ptr<PipelineMemory> pipeline_memory(const TrainingSettings& settings,
                                                const TrainingData& data, const nn::Input& input,
                                                int workers);

}  // namespace plimsoll::job
