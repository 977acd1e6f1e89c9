#include "step/trainer.h"

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"

namespace plimsoll {

// The tapes of a trainer and what each is for. A batch that is trained in parts has one tape for
// the last of a rank's and one for each size of those before it.
struct Trainer::Tapes {
  std::vector<TapeRequest> requests;
  std::vector<TapeKey> keys;
  StepGraph first;
  int slots = 0;
};

std::vector<Trainer::Cut> Trainer::cut_batches(const TrainerOptions& options) {
  std::vector<Cut> cuts;
  for (const std::int64_t batch : options.train_batches) {
    const dist::Parts parts = dist::parts_of(batch, options.train_batches[0], options.accumulate);
    const dist::PartRange own =
        dist::range_of(options.place.rank, options.place.ranks, parts.count);
    cuts.push_back({.parts = parts,
                    .own = own,
                    .carries = dist::carries_of(own, parts.count),
                    .holdings = dist::holdings_of(parts.count, options.place.ranks)});
  }
  if (!cuts.empty() && options.place.ranks > cuts[0].parts.count)
    throw UsageError({.where = "--ranks",
                      .got = std::to_string(options.place.ranks),
                      .expected = "expected at most the " + std::to_string(cuts[0].parts.count) +
                                  " parts of a batch",
                      .hint = "--accumulate " + std::to_string(options.place.ranks) +
                              " makes as many parts, of a batch that is large enough"});
  return cuts;
}

std::vector<Trainer::TapeKey> Trainer::wanted_tapes(const TrainerOptions& options,
                                                    const std::vector<Cut>& cuts) {
  std::vector<TapeKey> keys;
  const auto want = [&](const TapeKey& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const Cut& cut : cuts) {
    const auto size = [&](int part) { return cut.parts.size(part); };
    if (options.accumulate == 1) {
      want({Purpose::train, Part::whole, cut.parts.images});
    } else if (cut.own.size() == 0) {
      want({Purpose::train, Part::none, size(0)});
    } else {
      want({Purpose::train, Part::last, size(cut.own.end - 1)});
      for (int part = cut.own.end - 1; part-- > cut.own.begin;)
        want({Purpose::train, Part::early, size(part)});
    }
  }
  for (std::int64_t batch : options.evaluate_batches) want({Purpose::evaluate, Part::whole, batch});
  expect(!keys.empty(), "a trainer has something to run");
  return keys;
}

Trainer::Tapes Trainer::make_tapes(const OpTable& ops, const NetworkFactory& network,
                                   const TrainerOptions& options, const std::vector<Cut>& cuts) {
  Tapes tapes{{}, wanted_tapes(options, cuts), {.tape = TapeRequest{Graph(ops)}}};
  for (const Cut& cut : cuts)
    tapes.slots = std::max(tapes.slots, dist::slots_of(cut.own, cut.parts.count));
  nn::Input input = options.input;
  for (const TapeKey& key : tapes.keys) {
    input.batch = key.batch;
    const PartRequest part{.part = key.part,
                           .slots = tapes.slots,
                           .bucket_bytes = options.place.ranks > 1 ? options.bucket_bytes : 0,
                           .rank = options.shard_optimizer ? options.place.rank : 0,
                           .shards = options.shard_optimizer ? options.place.ranks : 1,
                           .meets = options.sync_statistics && options.accumulate > 1};
    StepGraph step =
        key.purpose == Purpose::train
            ? training_graph(ops, input, network, *options.task, options.l2, options.optimizer,
                             options.tuning, options.fusion, part)
            : evaluation_graph(ops, input, network, *options.task, options.tuning, options.fusion);
    tapes.requests.push_back(std::move(step.tape));
    if (tapes.requests.size() == 1) tapes.first = std::move(step);
  }
  return tapes;
}

dist::Staging Trainer::staging_for(const TrainerOptions& options, const std::vector<Cut>& cuts,
                                   const PreparedTapes& tapes) {
  std::vector<dist::Holdings> holdings;
  for (const Cut& cut : cuts) holdings.push_back(cut.holdings);
  std::int64_t most = 0;
  for (const Node& node : tapes.graph(0).nodes()) {
    if (!node.op->exchanged) continue;
    std::int64_t elements = 0;
    for (const ValueId out : node.out) elements += tapes.graph(0).spec(out).stored_elements();
    most = std::max(most, elements);
  }
  return most == 0 ? dist::Staging{}
                   : dist::staging_of(holdings, options.place.rank, options.place.ranks, most);
}

Trainer::Trainer(const OpTable& ops, const NetworkFactory& network, const TrainerOptions& options)
    : cuts_(cut_batches(options)),
      step_{.tape = TapeRequest{Graph(ops)}},
      tapes_([&] {
        Tapes tapes = make_tapes(ops, network, options, cuts_);
        step_ = std::move(tapes.first);
        keys_ = std::move(tapes.keys);
        slots_ = tapes.slots;
        return PreparedTapes(std::move(tapes.requests), options.kernels);
      }()),
      staging_(staging_for(options, cuts_, tapes_)),
      group_(options.place.ranks > 1 ? options.place.group : nullptr),
      task_(options.task),
      seed_(options.seed),
      is_whole_(options.accumulate == 1) {
  for (std::size_t tape = 0; tape < keys_.size(); ++tape) alone_.push_back({.tape = tape});
  std::size_t most = 1;
  for (const Cut& cut : cuts_) most = std::max(most, static_cast<std::size_t>(cut.parts.count));
  part_results_.reserve(most);
  own_results_.reserve(most);
  if (options.place.ranks > 1)
    all_results_.reserve(most + static_cast<std::size_t>(options.place.ranks));
  if (step_.met_channels.empty()) return;
  met_bytes_ =
      StatisticsMeeting::bytes_for(step_.met_channels, static_cast<int>(most), options.place.ranks);
  std::vector<std::vector<std::size_t>> together;
  for (Cut& cut : cuts_) {
    for (int part = cut.own.begin; part < cut.own.end; ++part)
      cut.together.push_back(run_of(cut, part).seat->tape);
    if (!cut.together.empty()) together.push_back(cut.together);
  }
  tapes_.set_together(std::move(together));
}

void Trainer::open(const std::filesystem::path& spill_directory) {
  if (!planned_) {
    const Problem problem = tapes_.problem(0);
    plan(name_fates(problem, problem.cheap()));
  }
  if (group_ != nullptr) exchange_ = std::make_unique<RankExchange>(*group_, staging_, slots_);
  session_.emplace(*planned_, spill_directory, exchange_.get());
  for (Cut& cut : cuts_) cut.seats = session_->seats_of(cut.together);
  if (!step_.met_channels.empty())
    meeting_ = std::make_unique<StatisticsMeeting>(group_, step_.met_channels,
                                                   static_cast<int>(part_results_.capacity()));
  initialise(*session_, step_, seed_);
}

const PlannedTapes& Trainer::planned() const {
  expect(planned_.has_value(), "a trainer that is planned");
  return *planned_;
}

Session& Trainer::session() {
  expect(session_.has_value(), "a trainer that is open");
  return *session_;
}

const Session& Trainer::session() const {
  expect(session_.has_value(), "a trainer that is open");
  return *session_;
}

std::size_t Trainer::tape_of(const TapeKey& key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  expect(found != keys_.end(), "a batch size that was planned");
  return static_cast<std::size_t>(found - keys_.begin());
}

StepTensors Trainer::tensors(const Session::Seat& seat) const {
  // Two pointers: more would be held on the heap, in every step.
  return StepTensors([this, at = &seat](std::string_view name) {
    return tapes_.graph(at->tape).find(name) ? std::optional(session_->view(*at, name))
                                             : std::nullopt;
  });
}

StepResult Trainer::read_result(const Session::Seat& seat) const noexcept {
  StepResult result;
  result.loss = static_cast<double>(session_->view(seat, "loss").at<float>(0));
  task_->read(tensors(seat), std::span(result.sums).first(task_->metrics().size()));
  return result;
}

const Trainer::Cut& Trainer::cut_of(std::int64_t batch) const {
  const auto found = std::find_if(cuts_.begin(), cuts_.end(),
                                  [&](const Cut& c) { return c.parts.images == batch; });
  expect(found != cuts_.end(), "a batch size that was planned");
  return *found;
}

void Trainer::set_scalars(const PartRun& run, float lr, std::int64_t step,
                          std::int64_t sample) noexcept {
  const Graph& graph = tapes_.graph(run.seat->tape);
  const auto view = [&](std::string_view name) { return session_->view(*run.seat, name); };
  if (graph.find("lr")) view("lr").at<float>(0) = lr;
  if (graph.find("step")) view("step").at<std::int64_t>(0) = step;
  if (graph.find("share")) view("share").at<float>(0) = static_cast<float>(run.share);
  if (graph.find("code")) {
    const TensorView code = view("code");
    code.at<std::int32_t>(0) = run.carry.held;
    code.at<std::int32_t>(1) = run.carry.merged;
  }
  if (!graph.find("sample")) return;
  const TensorView randomness = view("sample");
  randomness.at<std::int64_t>(0) = sample + run.first;
  randomness.at<std::int64_t>(1) = static_cast<std::int64_t>(seed_);
}

double Trainer::run_part(const PartRun& run, float lr, std::int64_t step,
                         std::int64_t sample) noexcept {
  set_scalars(run, lr, step, sample);
  session_->run(run.seat->tape);
  return run.key.part == Part::early ? 0 : session_->view(*run.seat, "norm").at<double>(0);
}

StepResult Trainer::train_step(std::int64_t batch, float lr, std::int64_t step,
                               std::int64_t sample) noexcept {
  const PartRun run = run_alone({Purpose::train, Part::whole, batch});
  const double norm = run_part(run, lr, step, sample);
  StepResult result = read_result(*run.seat);
  result.gradient_norm = norm;
  return result;
}

Trainer::PartRun Trainer::run_of(const Cut& cut, int part) const {
  const bool is_last = part + 1 == cut.own.end;
  const Part kind = is_whole_ ? Part::whole : is_last ? Part::last : Part::early;
  const auto index = static_cast<std::size_t>(part - cut.own.begin);
  const TapeKey key{Purpose::train, kind, cut.parts.size(part)};
  return {.key = key,
          .first = cut.parts.begin(part),
          .share = cut.parts.share(part),
          .carry = cut.carries[index],
          .part = part,
          .seat = cut.seats.empty() ? &alone_[tape_of(key)] : &cut.seats[index]};
}

template <class Each>
void Trainer::over_parts(std::int64_t batch, const FillPart& fill, Each each) {
  const Cut& cut = cut_of(batch);
  for (int part = cut.own.begin; part < cut.own.end; ++part) {
    PartRun run = run_of(cut, part);
    run.seat = &alone_[run.seat->tape];
    fill(tensors(*run.seat), run.first, run.key.batch);
    each(run);
  }
}

StepResult Trainer::train_batch(std::int64_t batch, float lr, std::int64_t step,
                                std::int64_t sample, const FillPart& fill) {
  const Cut& cut = cut_of(batch);
  if (exchange_) exchange_->begin_batch(cut.holdings);
  part_results_.clear();
  double norm = 0;
  if (meeting_) meeting_->begin_batch(cut.parts);
  if (cut.own.size() == 0) {
    if (meeting_) meeting_->attend();
    norm = run_part(run_alone({Purpose::train, Part::none, cut.parts.size(0)}), lr, step, sample);
  } else if (meeting_) {
    norm = run_together(cut, fill, lr, step, sample);
  } else {
    over_parts(batch, fill, [&](const PartRun& run) {
      norm = run_part(run, lr, step, sample);
      session_->check_spill();
      keep_result(run);
    });
  }
  if (group_ != nullptr) gather_results(cut);
  StepResult sum = sum_of(part_results_);
  sum.gradient_norm = norm;
  return sum;
}

void Trainer::keep_result(const PartRun& run) {
  const StepResult result = read_result(*run.seat);
  part_results_.push_back(
      {.part = run.part, .share = run.share, .loss = result.loss, .sums = result.sums});
}

double Trainer::run_together(const Cut& cut, const FillPart& fill, float lr, std::int64_t step,
                             std::int64_t sample) {
  for (int part = cut.own.begin; part < cut.own.end; ++part) {
    const PartRun run = run_of(cut, part);
    fill(tensors(*run.seat), run.first, run.key.batch);
    set_scalars(run, lr, step, sample);
  }
  session_->run_together(cut.seats, *meeting_);
  for (int part = cut.own.begin; part < cut.own.end; ++part) keep_result(run_of(cut, part));
  return session_->view(cut.seats.back(), "norm").at<double>(0);
}

void Trainer::gather_results(const Cut& cut) {
  if (exchange_->mode() == Exchanging::apart) return;
  const Stopwatch watch;
  const auto ranks = static_cast<std::size_t>(group_->ranks());
  const std::size_t rows = (static_cast<std::size_t>(cut.parts.count) + ranks - 1) / ranks;
  own_results_ = part_results_;
  own_results_.resize(rows, {.part = -1});
  all_results_.resize(rows * ranks);
  group_->all_gather(std::as_bytes(std::span(own_results_)),
                     std::as_writable_bytes(std::span(all_results_)));
  results_waited_ += watch.seconds();
  part_results_.clear();
  for (const PartResult& result : all_results_)
    if (result.part >= 0) part_results_.push_back(result);
}

Trainer::ExchangeStatistics Trainer::exchange_statistics() const {
  if (!exchange_) return {};
  return {.bytes = exchange_->courier().bytes_received(),
          .waited_seconds = exchange_->courier().waited_seconds() + results_waited_};
}

void Trainer::watch_batch(std::int64_t batch, std::int64_t step, std::int64_t sample,
                          const FillPart& fill, const Session::Look& look) {
  bool going = true;
  over_parts(batch, fill, [&](const PartRun& run) {
    if (!going) return;
    set_scalars(run, 0, step, sample);
    session_->run_watched(run.seat->tape, [&](const Node& node, std::span<const TensorView> out) {
      going = look(node, out);
      return going;
    });
    session_->check_spill();
  });
}

StepResult Trainer::evaluate_step(std::int64_t batch) noexcept {
  const std::size_t tape = tape_of(Purpose::evaluate, batch);
  session_->run(tape);
  return read_result(alone_[tape]);
}

}  // namespace plimsoll
