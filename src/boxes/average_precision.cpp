#include "boxes/average_precision.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace plimsoll::boxes {
namespace {

double mean(double total, std::int64_t count) {
  return count > 0 ? total / static_cast<double>(count) : -1;
}

double sum(const RecallCurve& curve) { return std::accumulate(curve.begin(), curve.end(), 0.0); }

double recall_of(const std::array<std::int64_t, kIouThresholds>& right, std::int64_t truths) {
  double total = 0;
  for (const std::int64_t count : right)
    total += static_cast<double>(count) / static_cast<double>(truths);
  return total / kIouThresholds;
}

// What is summed over classes for the twelve numbers and the others.
class Totals {
 public:
  explicit Totals(DetectionScores& scores) : scores_(scores) { scores_.coco.fill(0); }

  void add(const PrecisionCurves& curves, const ClassCounts& counts, std::size_t label) {
    ClassPrecision& of = scores_.classes[label];
    for (int area = 0; area < kAreas; ++area) {
      if (counts.truths[static_cast<std::size_t>(area)] == 0) continue;
      ++classes_[static_cast<std::size_t>(area)];
      double precision = 0;
      double recall = 0;
      for (int t = 0; t < kIouThresholds; ++t) {
        precision += sum(curves.curve(area, t)) / (kRecalls * kIouThresholds);
        recall += curves.recall(area, t) / kIouThresholds;
      }
      coco(area == 0 ? 0 : 2 + area) += precision;
      coco(area == 0 ? 8 : 8 + area) += recall;
      if (area != 0) continue;
      const RecallCurve curve = curves.curve(0, 0);
      of.ap = precision;
      of.ap50 = sum(curve) / kRecalls;
      coco(1) += of.ap50;
      coco(2) += sum(curves.curve(0, 5)) / kRecalls;
      coco(6) += recall_of(counts.right_of_1, counts.truths[0]);
      coco(7) += recall_of(counts.right_of_10, counts.truths[0]);
      if (label < scores_.curves50.size()) scores_.curves50[label] = curve;
      for (std::size_t i = 0; i < curve.size(); ++i) scores_.precision50[i] += curve[i];
    }
    if (counts.voc_truths == 0) return;
    ++voc_classes_;
    of.voc_2007 = curves.voc_2007();
    of.voc_2012 = curves.voc_2012();
    voc_2007_ += of.voc_2007;
    voc_2012_ += of.voc_2012;
  }

  void finish() {
    constexpr std::array<std::size_t, 12> kAreaOf{0, 0, 0, 1, 2, 3, 0, 0, 0, 1, 2, 3};
    for (std::size_t i = 0; i < kAreaOf.size(); ++i)
      scores_.coco[i] = mean(scores_.coco[i], classes_[kAreaOf[i]]);
    scores_.voc_2007 = mean(voc_2007_, voc_classes_);
    scores_.voc_2012 = mean(voc_2012_, voc_classes_);
    for (double& precision : scores_.precision50)
      precision = classes_[0] > 0 ? precision / static_cast<double>(classes_[0]) : 0;
  }

 private:
  double& coco(int i) { return scores_.coco[static_cast<std::size_t>(i)]; }

  DetectionScores& scores_;
  std::array<std::int64_t, kAreas> classes_{};
  std::int64_t voc_classes_ = 0;
  double voc_2007_ = 0;
  double voc_2012_ = 0;
};

}  // namespace

// Where everything lies in the one piece of memory. The first has the strictest alignment.
struct AveragePrecision::Parts {
  explicit Parts(const EvaluationSize& size) {
    expect(size.classes > 0 && size.classes <= kMostClasses && size.truths_of_a_picture >= 0 &&
               size.found_in_a_picture >= 0 && size.truths_of_a_class >= 0 && size.records >= 16,
           "the size of an evaluation");
    const auto place = [&](std::int64_t count, std::size_t each) {
      const std::int64_t begin = bytes;
      bytes += (count * static_cast<std::int64_t>(each) + 63) / 64 * 64;
      return begin;
    };
    counts = place(size.classes, sizeof(ClassCounts));
    outcome = place(PictureOutcome::bytes(size.truths_of_a_picture, size.found_in_a_picture), 1);
    buffer = place(size.records, sizeof(DetectionRecord));
    order = place(size.records, sizeof(std::uint32_t));
    wrong_before = place(size.truths_of_a_class, sizeof(std::uint32_t));
  }
  std::int64_t counts, outcome, buffer, order, wrong_before;
  std::int64_t bytes = 0;
};

Bytes AveragePrecision::memory(const EvaluationSize& size) {
  return Bytes{Parts(size).bytes + static_cast<std::int64_t>(sizeof(AveragePrecision))};
}

AveragePrecision::AveragePrecision(const EvaluationSize& size,
                                   const std::filesystem::path& spill_directory)
    : AveragePrecision(Parts(size), size, MappedBytes(static_cast<std::size_t>(Parts(size).bytes)),
                       spill_directory) {}

namespace {

template <class T>
std::span<T> part_of(MappedBytes& memory, std::int64_t offset, std::int64_t count) {
  return {reinterpret_cast<T*>(memory.data() + offset), static_cast<std::size_t>(count)};
}

}  // namespace

AveragePrecision::AveragePrecision(const Parts& parts, const EvaluationSize& size,
                                   MappedBytes memory, const std::filesystem::path& spill_directory)
    : memory_(std::move(memory)),
      counts_(part_of<ClassCounts>(memory_, parts.counts, size.classes)),
      outcome_(memory_.data() + parts.outcome, size.truths_of_a_picture, size.found_in_a_picture),
      store_(part_of<DetectionRecord>(memory_, parts.buffer, size.records),
             part_of<std::uint32_t>(memory_, parts.order, size.records), spill_directory),
      curves_(part_of<std::uint32_t>(memory_, parts.wrong_before, size.truths_of_a_class)) {
  std::ranges::fill(counts_, ClassCounts{});
}

void AveragePrecision::add_picture(std::span<const TruthBox> truths,
                                   std::span<const FoundBox> found) {
  outcome_.settle(truths, found, counts_,
                  [&](const DetectionRecord& record) { store_.add(record); });
}

DetectionScores AveragePrecision::finish() {
  DetectionScores scores;
  scores.classes.resize(counts_.size());
  if (std::ssize(counts_) <= kMostCurves) scores.curves50.resize(counts_.size());
  Totals totals(scores);
  std::size_t label = 0;
  const auto begin = [&] { curves_.begin(counts_[label]); };
  const auto end = [&] { totals.add(curves_, counts_[label], label); };
  begin();
  store_.drain([&](const DetectionRecord& record) {
    for (; label < static_cast<std::size_t>(record.label()); begin()) {
      end();
      ++label;
    }
    curves_.add(record);
  });
  for (; label + 1 < counts_.size(); begin()) {
    end();
    ++label;
  }
  end();
  totals.finish();
  std::ranges::fill(counts_, ClassCounts{});
  return scores;
}

}  // namespace plimsoll::boxes
