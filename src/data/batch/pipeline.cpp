#include "data/batch/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu.h"
#include "base/stopwatch.h"
#include "data/batch/batch_queue.h"
#include "data/batch/order.h"
#include "data/batch/picture_cache.h"
#include "data/batch/picture_maker.h"
#include "data/batch/pipeline_memory.h"
#include "data/batch/placed_boxes.h"
#include "data/batch/worker_threads.h"

namespace plimsoll {
namespace {

// Waits shorter than this share of a step are noise.
constexpr double kWaitNoise = 0.01;
// So many steps with a full queue before a worker is sent to sleep.
constexpr int kPatience = 16;

std::shared_ptr<PipelineMemory> make_memory(const Source& source, const PipelineSettings& settings,
                                            const LargestImage& largest) {
  settings.check();
  return std::make_shared<PipelineMemory>(settings, source.index().largest_encoded, largest);
}

}  // namespace

struct Pipeline::State {
  // One thread's tools, and which sample it is at, for those who ask.
  struct Worker {
    std::optional<PictureMaker> maker;
    std::span<std::uint8_t> other;          // mixup's
    std::atomic<std::int64_t> sample = -1;  // -1: none
    std::atomic<std::chrono::steady_clock::duration> since = {};
  };

  State(SourcePtr of, PipelineSettings with, std::shared_ptr<PipelineMemory> in)
      : source(std::move(of)),
        settings(std::move(with)),
        memory(std::move(in)),
        queue({.samples = source->size(),
               .batch = settings.batch,
               .depth = settings.depth,
               .drop_last = settings.drop_last,
               .repeat = settings.repeat,
               // Pictures that need no reading are over sooner than a lock is taken.
               .share = source->index().largest_encoded.count == 0 ? 16 : 1,
               .window = settings.window}),
        workers(static_cast<std::size_t>(settings.most_workers())) {
    expect(std::cmp_less_equal(settings.depth, memory->slots().size()) &&
               std::cmp_less_equal(workers.size(), memory->workers().size()),
           "memory for as many batches and workers");
    expect(memory->slots().front().holds(settings), "memory for batches as large");
    if (settings.cache_bytes(source->size()) > Bytes{0})
      cache.emplace(source->size(), settings.picture_bytes());
  }
  ~State() { memory->leave(queue); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Gives every worker its tools, in memory that was another's perhaps. No worker may be busy.
  void equip();
  Order order(std::int64_t epoch) const {
    return settings.shuffle ? Order::shuffled(source->size(), settings.seed, epoch)
                            : Order::sequential(source->size());
  }

  void work(int number);
  void fill(Worker& worker, const Share& share, std::int64_t k);
  // Sample i to `hwc`, from the cache or made. Returns where it lies.
  CanvasPlacement make(Worker& worker, std::int64_t i, std::int64_t epoch, std::uint8_t* hwc,
                       Draw& draw);
  // The sample at `position` of the order or, with BadFiles::skip, the next one after it that can
  // be made. Returns which it was, and where it lies.
  struct Made {
    std::int64_t sample = 0;
    CanvasPlacement placement;
  };
  Made make_at(Worker& worker, const Order& order, std::int64_t position, std::int64_t epoch,
               std::uint8_t* hwc, Draw& draw);
  void note_bad(std::int64_t i, const DataError& error);
  void tell_bad();
  void adapt(const BatchQueue::Ready& ready, double step_seconds);

  SourcePtr source;
  PipelineSettings settings;
  std::shared_ptr<PipelineMemory> memory;
  BatchQueue queue;
  std::vector<Worker> workers;
  std::optional<PictureCache> cache;

  std::atomic<std::int64_t> made = 0;
  std::atomic<std::int64_t> busy_nanoseconds = 0;

  std::mutex bad_mutex;
  std::set<std::int64_t> known_bad;
  std::vector<Complaint> untold;

  std::optional<Stopwatch> since_batch;  // since next() returned one
  double waited = 0;
  int full_steps = 0;
  WorkerThreads threads;  // last: they use all of the above
};

void Pipeline::State::equip() {
  for (std::size_t w = 0; w < workers.size(); ++w) {
    PipelineMemory::Worker& in = memory->workers()[w];
    workers[w].maker.reset();
    in.room.rewind(0);
    workers[w].maker.emplace(*source, settings, in.room, in.encoded);
    if (settings.augment.mixup > 0)
      workers[w].other =
          in.room.take_array<std::uint8_t>(static_cast<std::size_t>(settings.picture_bytes()));
  }
}

CanvasPlacement Pipeline::State::make(Worker& worker, std::int64_t i, std::int64_t epoch,
                                      std::uint8_t* hwc, Draw& draw) {
  CanvasPlacement placement;
  if (cache && cache->read(i, hwc, placement)) return placement;
  worker.since = std::chrono::steady_clock::now().time_since_epoch();
  worker.sample = i;
  placement = worker.maker->make(i, epoch, hwc, draw);
  if (cache) cache->write(i, hwc, placement);
  return placement;
}

void Pipeline::State::note_bad(std::int64_t i, const DataError& error) {
  const std::scoped_lock lock(bad_mutex);
  if (known_bad.insert(i).second) untold.push_back(error.complaint());
}

void Pipeline::State::tell_bad() {
  std::vector<Complaint> now;
  {
    const std::scoped_lock lock(bad_mutex);
    now.swap(untold);
  }
  if (settings.on_bad)
    for (const Complaint& complaint : now) settings.on_bad(complaint);
}

Pipeline::State::Made Pipeline::State::make_at(Worker& worker, const Order& order,
                                               std::int64_t position, std::int64_t epoch,
                                               std::uint8_t* hwc, Draw& draw) {
  // A disk that went away fails on every sample; nobody wants to hear of a million.
  const std::int64_t tries =
      settings.bad_files == BadFiles::stop ? 1 : std::min<std::int64_t>(source->size(), 100);
  for (std::int64_t k = 0;; ++k) {
    const std::int64_t i = order[(position + k) % order.size()];
    try {
      return {.sample = i, .placement = make(worker, i, epoch, hwc, draw)};
    } catch (const DataError& error) {
      if (settings.bad_files == BadFiles::stop) throw;
      note_bad(i, error);
      if (k + 1 < tries) continue;
      Complaint complaint = error.complaint();
      complaint.hint = "the " + std::to_string(tries) +
                       " samples before it in order could not be read either: look at the disk";
      throw DataError(std::move(complaint));
    }
  }
}

void Pipeline::State::fill(Worker& worker, const Share& share, std::int64_t k) {
  PipelineMemory::Slot& slot = memory->slots()[static_cast<std::size_t>(share.slot)];
  const Order epoch_order = order(share.epoch);
  const std::int64_t picture = settings.picture_bytes();
  const auto at = static_cast<std::size_t>(share.at + k);
  std::uint8_t* hwc = slot.pixels.data() + (share.at + k) * picture;
  Draw draw;
  const auto [i, placement] =
      make_at(worker, epoch_order, share.position + k, share.epoch, hwc, draw);
  slot.samples[at] = i;
  slot.labels[at] = source->label(i);
  if (settings.places()) slot.placements[at] = placement;
  if (settings.most_boxes > 0) {
    const auto most = static_cast<std::size_t>(settings.most_boxes);
    slot.box_counts[at] = static_cast<std::int32_t>(
        place_boxes(*source, i, placement, crop_for(settings, draw, placement.image), draw,
                    slot.boxes.subspan(at * most, most)));
  }
  if (settings.augment.mixup <= 0) return;
  slot.other_labels[at] = slot.labels[at];
  slot.other_shares[at] = 0;
  if (draw.mixup <= 0) return;
  const auto partner =
      static_cast<std::int64_t>(draw.mixup_with % static_cast<std::uint64_t>(source->size()));
  Draw partner_draw;
  // By position in the order: what replaces a bad sample is found as for any other.
  const std::int64_t j =
      make_at(worker, epoch_order, partner, share.epoch, worker.other.data(), partner_draw).sample;
  mix(hwc, worker.other.data(), picture, draw.mixup);
  slot.other_labels[at] = source->label(j);
  slot.other_shares[at] = static_cast<float>(draw.mixup);
}

void Pipeline::State::work(int number) {
  Worker& worker = workers[static_cast<std::size_t>(number)];
  while (const std::optional<Share> share = queue.take(number)) {
    std::int64_t k = 0;
    std::exception_ptr error;
    try {
      const Stopwatch watch;
      for (; k < share->count; ++k) fill(worker, *share, k);
      busy_nanoseconds += std::llround(watch.seconds() * 1e9);
      made += share->count;
    } catch (...) {
      error = std::current_exception();
    }
    worker.sample = -1;
    // Behind the handler, which would hold the error on while the reader already looks at it.
    if (error)
      queue.fail(*share, share->at + k, std::move(error));
    else
      queue.finish(*share);
  }
}

void Pipeline::State::adapt(const BatchQueue::Ready& ready, double step_seconds) {
  const int limit = settings.most_workers();
  const int now = queue.active();
  if (ready.waited > kWaitNoise * step_seconds) {
    full_steps = 0;
    // At once as many as the two speeds ask for, and one more where that was not enough.
    const double per_picture = static_cast<double>(busy_nanoseconds.load()) * 1e-9 /
                               static_cast<double>(std::max<std::int64_t>(1, made.load()));
    const double need =
        per_picture * static_cast<double>(ready.window.count) / std::max(step_seconds, 1e-6);
    const int wanted =
        std::max(now + 1, static_cast<int>(std::min<double>(std::ceil(need), limit)));
    if (now < limit) queue.set_active(std::min(limit, wanted));
  } else if (!ready.was_full) {
    full_steps = 0;
  } else if (++full_steps >= kPatience) {
    full_steps = 0;
    if (now > 1) queue.set_active(now - 1);
  }
}

Pipeline::Pipeline(SourcePtr source, PipelineSettings settings, LargestImage largest)
    : Pipeline(source, settings, make_memory(*source, settings, largest)) {}

Pipeline::Pipeline(SourcePtr source, PipelineSettings settings,
                   std::shared_ptr<PipelineMemory> memory) {
  settings.check();
  if (source->size() == 0)
    throw UsageError(
        {.where = "data pipeline", .got = "no samples", .expected = "expected at least one"});
  if (const std::int64_t most = source->index().max_boxes;
      settings.most_boxes > 0 && most > settings.most_boxes)
    throw UsageError({.where = "data pipeline",
                      .got = "samples of up to " + std::to_string(most) + " boxes",
                      .expected = "expected at most " + std::to_string(settings.most_boxes)});
  state_ = std::make_unique<State>(std::move(source), std::move(settings), std::move(memory));
  // All of them until the queue has been filled once; then as many as it takes.
  State& state = *state_;
  state.queue.set_active(state.settings.most_workers());
  state.threads.start(state.settings.most_workers(), "data pipeline",
                      [&state](int number) { state.work(number); });
}

Pipeline::~Pipeline() { state_->queue.close(); }

void Pipeline::start(std::int64_t epoch, std::int64_t position) {
  expect(epoch >= 0 && position >= 0 && position <= state_->source->size(),
         "a position outside the epoch");
  state_->since_batch.reset();
  state_->full_steps = 0;
  state_->queue.pause();
  state_->memory->claim(state_->queue);
  state_->equip();
  state_->queue.start({.epoch = epoch, .position = position});
}

void Pipeline::stop() { state_->queue.pause(); }

std::optional<Batch> Pipeline::next() {
  State& state = *state_;
  const double step = state.since_batch ? state.since_batch->seconds() : 0;
  std::optional<BatchQueue::Ready> ready;
  try {
    ready = state.queue.next();
  } catch (...) {
    state.tell_bad();
    throw;
  }
  state.tell_bad();
  if (!ready) return std::nullopt;
  state.waited += ready->waited;
  if (state.since_batch) state.adapt(*ready, step);
  state.since_batch.emplace();
  const PipelineMemory::Slot& slot = state.memory->slots()[static_cast<std::size_t>(ready->slot)];
  const auto count = static_cast<std::size_t>(ready->window.count);
  Batch batch{
      .epoch = ready->epoch,
      .first = ready->first,
      .whole = ready->whole,
      .offset = ready->window.first,
      .count = ready->window.count,
      .pixels = slot.pixels.first(count * static_cast<std::size_t>(state.settings.picture_bytes())),
      .labels = slot.labels.first(count),
      .samples = slot.samples.first(count),
      .source = state.source.get()};
  if (state.settings.augment.mixup > 0) {
    batch.other_labels = slot.other_labels.first(count);
    batch.other_shares = slot.other_shares.first(count);
  }
  if (state.settings.places()) batch.placements = slot.placements.first(count);
  if (state.settings.most_boxes > 0) {
    batch.most_boxes = state.settings.most_boxes;
    batch.boxes = slot.boxes.first(count * static_cast<std::size_t>(batch.most_boxes));
    batch.box_counts = slot.box_counts.first(count);
  }
  return batch;
}

std::int64_t Pipeline::batches_per_epoch() const { return state_->queue.batches_per_epoch(); }
int Pipeline::workers() const { return state_->queue.active(); }
double Pipeline::wait_seconds() const { return state_->waited; }

Pipeline::Work Pipeline::work() const {
  return {static_cast<double>(state_->busy_nanoseconds.load()) * 1e-9, state_->made.load()};
}

std::vector<Pipeline::Doing> Pipeline::doing() const {
  std::vector<Doing> all;
  for (const State::Worker& worker : state_->workers) {
    const std::int64_t sample = worker.sample;
    if (sample < 0) continue;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    all.push_back({.where = state_->source->where(sample),
                   .seconds = std::chrono::duration<double>(now - worker.since.load()).count()});
  }
  return all;
}

}  // namespace plimsoll
