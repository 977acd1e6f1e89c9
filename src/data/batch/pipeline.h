// From a source to batches of pictures, made ahead of time by workers, in memory that is known
// before the first one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "data/batch/batch_window.h"
#include "data/codec/decode.h"
#include "data/picture/augment.h"
#include "data/picture/placement.h"
#include "data/picture/transform.h"
#include "data/source/source.h"

namespace plimsoll {

// The largest images a pipeline may meet: what decoding one takes at most, and the longest sides.
struct LargestImage {
  Bytes decode;
  Size size;
};

// What is enough for both.
LargestImage largest_of(const LargestImage& a, const LargestImage& b);

// For planning without data: a photograph of so many pixels as cameras write them, a baseline JPEG,
// decoded row by row. Progressive ones need their coefficients as well, two bytes a sample.
LargestImage assume_largest(std::int64_t pixels, int channels);

enum class BadFiles { stop, skip };

struct PipelineSettings {
  std::int64_t batch = 32;
  Size image;
  int channels = 3;
  Interpolation interpolation = {};
  Augment augment = {};
  // Where no random crop is drawn: the largest centred part of the right shape instead of all of
  // the image, squeezed. Keras's crop_to_aspect_ratio.
  bool crop_to_aspect_ratio = false;
  // How what is shown of an image comes to the size of the canvas, which is `image`.
  Fit fit = Fit::squeeze;
  // Boxes of a sample at most: Index::max_boxes. 0: batches have none.
  std::int64_t most_boxes = 0;
  // JPEGs much larger than needed are decoded at 1/2, 1/4 or 1/8. Faster, and not quite the same
  // pixels.
  bool scaled_decoding = false;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;  // no partial batch at the end of an epoch
  bool repeat = true;      // an epoch follows the other; else the end of one is the end
  int depth = 3;           // batches that are held, the one in use included; at least 2
  int workers = 0;         // at most so many; 0: the processors there are
  BadFiles bad_files = BadFiles::stop;
  // With skip: told of every sample that went bad, once, inside next().
  std::function<void(const Complaint&)> on_bad = {};
  // Keep finished pictures, if they are the same in every epoch (no augmentation) and all fit.
  Bytes cache = {0};

  // Of every batch, what is made and held of it here; batches and their order are those of all.
  WindowOfBatch window = {};
  std::int64_t window_most = 0;  // samples of a window at most, where there is one

  // Samples of a batch that are held at most.
  std::int64_t most_samples() const;
  // Whether batches tell where pictures lie.
  bool places() const { return most_boxes > 0 || fit == Fit::letterbox; }
  std::int64_t picture_bytes() const { return image.height * image.width * channels; }
  // `workers`, or the processors there are.
  int most_workers() const;
  // What finished pictures take; 0 where they are not kept.
  Bytes cache_bytes(std::int64_t samples) const;
  // UsageError on what makes no sense, and on what cannot be done to pictures with boxes.
  void check() const;
};

// What a pipeline holds, by purpose.
struct PipelineBytes {
  Bytes queue;     // finished and half-finished batches
  Bytes decoders;  // their code, as far as it is touched
  Bytes worker;    // of each: encoded bytes, the room to decode and resize, its thread
  int workers = 1;
  Bytes cache;
  Bytes index;  // of the source

  Bytes total() const { return queue + decoders + worker * workers + cache + index; }
};

// From the index and the largest image; all but the cache is held from the first batch on.
PipelineBytes pipeline_bytes(const PipelineSettings& settings, const Index& index,
                             const LargestImage& largest);
// Of two that share their memory, and so take turns.
PipelineBytes shared_bytes(const PipelineBytes& a, const PipelineBytes& b);

struct Batch {
  std::int64_t epoch = 0;
  std::int64_t first = 0;   // position of its first sample in the epoch
  std::int64_t whole = 0;   // samples it has
  std::int64_t offset = 0;  // the first of them that is here; see PipelineSettings::window
  std::int64_t count = 0;   // those that are: all where there is no window
  std::span<const std::uint8_t> pixels;  // [count][height][width][channels]
  std::span<const std::int32_t> labels;
  std::span<const std::int64_t> samples;  // which of the source they are
  const Source* source = nullptr;
  // With mixup: the other picture's label, and its share.
  std::span<const std::int32_t> other_labels;
  std::span<const float> other_shares;
  // Where PipelineSettings::places: one for each sample. What is outside of an extent is zero.
  std::span<const CanvasPlacement> placements;
  // With most_boxes: those that training shows, box_counts[i] of sample i, from i * most_boxes on.
  // What is behind them is unspecified.
  std::span<const PlacedBox> boxes;  // [count][most_boxes]
  std::span<const std::int32_t> box_counts;
  std::int64_t most_boxes = 0;
};

// A sample's pixels and boxes are a function of (seed, epoch, its number in the source) and nothing
// else, and which sample comes k-th one of (seed, epoch, k): the same with any number of workers
// and wherever reading begins. With BadFiles::skip, a sample that goes bad in the middle of a run
// is replaced by the next good one of the epoch's order; so the batches are a function of which are
// bad.
//
// All members are for one thread, the consumer. Workers sleep when the queue is full, and stop when
// the object goes. How many work follows from the time they take for a picture and the consumer for
// a batch: one more whenever next() had to wait, one less when the queue stayed full.
class PipelineMemory;

class Pipeline {
 public:
  // `largest` bounds what any sample needs (ScanReport::largest). A sample that is beyond it, as
  // one that was replaced since, is a bad one. Everything is allocated here. UsageError on settings
  // that make no sense, and on fewer most_boxes than a sample has.
  Pipeline(SourcePtr source, PipelineSettings settings, LargestImage largest);
  // In memory that other pipelines use too, made for the largest of their samples: start() of one
  // is stop() for the others.
  Pipeline(SourcePtr source, PipelineSettings settings, std::shared_ptr<PipelineMemory> memory);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  // Begins at a position in an epoch's order, whatever went before. Must come before next().
  void start(std::int64_t epoch, std::int64_t position);

  // The next batch, valid until the next call of a member; nothing after the last one of a pipeline
  // that does not repeat. Throws what the worker met when the batch that comes has a sample that
  // could not be made: a DataError with path, record and byte; with several, the first in order.
  // start() makes it usable again.
  std::optional<Batch> next();

  // Stops work at once; next() may not be called before start().
  void stop();

  std::int64_t batches_per_epoch() const;
  // How many workers may work now.
  int workers() const;
  // Seconds that next() waited since construction.
  double wait_seconds() const;
  // Seconds that workers have spent on pictures, and how many they made.
  struct Work {
    double seconds = 0;
    std::int64_t pictures = 0;
  };
  Work work() const;
  // What each worker is at, idle ones left out. May be called from any thread.
  struct Doing {
    std::string where;
    double seconds = 0;  // since it began with it
  };
  std::vector<Doing> doing() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
