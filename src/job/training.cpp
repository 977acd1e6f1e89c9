#include "job/training.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/file_system.h"
#include "base/files.h"
#include "base/memory_usage.h"
#include "dist/agreement.h"
#include "job/args.h"
#include "job/begin_weights.h"
#include "job/identity.h"
#include "run/run_ranks.h"

namespace plimsoll::job {
Training::Training(RunSettings settings, const Budget& budget, int threads, TrainingHooks hooks)
    : s_(std::move(settings)),
      budget_(budget),
      threads_(threads),
      hooks_(std::move(hooks)),
      data_(dist::make_on_all(
          s_.place.group,
          [&] { return load_data(s_, budget, threads, std::exchange(hooks_.on_scan, {})); })),
      task_(s_.task(data_.train.get())) {
  if (s_.place.leads() && !memory_file_system(s_.out.empty() ? "runs" : s_.out).empty())
    beside_.files_in_memory = files_of(s_, data_, s_.model.input());
  // What comes later must fit too; so it is planned before anything starts.
  if (thaws()) thawed_bytes_ = make_stage(false).run.plan.total_bytes;
  ready_.emplace(make_stage(true));
  s_.settle(data_, s_.model.input());
  s_.run.budget_bytes = budget_.bytes;
  if (hooks_.crowding) s_.run.crowding = hooks_.crowding;
  if (hooks_.stalled) s_.run.stalled = hooks_.stalled;
  s_.run.group = s_.place.group;
  s_.run.threads = threads_;
  if (s_.place.group != nullptr) compare_ranks();
  open_folder();
  if (resumed_) from_ = *resumed_;
  if (!is_complete() && s_.place.leads()) describe();
}

void Training::compare_ranks() {
  std::vector<dist::Fact> facts;
  for (const Metadata* words : {&s_.run.identity.is, &s_.run.identity.with})
    for (const auto& [name, value] : *words) facts.push_back({name, value});
  dist::check_same(*s_.place.group, facts, "all ranks train on the same files in the same way");
}

void Training::open_folder() {
  dist::Group* const group = s_.place.group;
  dist::do_on_all(group, [&] {
    if (s_.place.leads()) folder_.emplace(open_run_folder(s_));
  });
  if (folder_ && folder_->checkpoint) resumed_ = folder_->checkpoint->state;
  if (folder_) s_.run.out = folder_->path;
  s_.run.out = share_text(group, s_.run.out.string());
  if (share_text(group, resumed_ ? "resumes" : "begins") == "resumes")
    resumed_ = share_state(group, resumed_.value_or(RunState{}));
}

const RunState* Training::resumed() const { return resumed_ ? &*resumed_ : nullptr; }

bool Training::is_complete() const {
  const RunState* state = resumed();
  return state != nullptr &&
         (state->epoch >= s_.run.epochs || (s_.run.steps > 0 && state->step >= s_.run.steps));
}

Ready Training::make_stage(bool frozen) {
  RunSettings stage = s_;
  if (!frozen) stage.thawed = std::exchange(stage.freeze, "");
  Ready ready = make_ready_on_all(stage, &data_, budget_, threads_, beside_);
  s_.model.batch = stage.model.batch;
  s_.model.batch_max = false;
  dist::do_on_all(s_.place.group, [&] { require_fit(ready, stage, &data_, threads_, beside_); });
  return ready;
}

std::string Training::small_parts_text() const {
  constexpr std::int64_t kFew = 16;  // too few images for statistics, by common experience
  const std::int64_t images = s_.model.batch / s_.memory.accumulate;
  bool normalises = false;
  for (const Node& node : ready_->trainer.tapes().graph(0).nodes())
    normalises =
        normalises || (node.op->form == Form::normalisation && node.attrs.flag("training"));
  if (s_.memory.accumulate == 1 || s_.memory.bn == "sync" || images >= kFew || !normalises)
    return {};
  return fmt::format(
      "BatchNorm takes its statistics from the {} images of a part; --bn sync takes them from all "
      "{}",
      images, s_.model.batch);
}

std::string Training::thawing_text() const {
  return s_.thaw_bn ? "nothing is frozen" : "BatchNorms alone stay frozen";
}

// Writes what the run is, and notes what is to be told once it is open.
void Training::describe() {
  const nn::Input input = s_.model.input();
  const std::filesystem::path args = s_.run.out / "args.toml";
  if (const RunState* state = resumed()) {
    news_.push_back(fmt::format("resuming {} at step {}, epoch {} of {}", s_.run.out.string(),
                                state->step, state->epoch + 1, s_.run.epochs));
    const auto tell = [&](const SettingChange& change, bool rounds) {
      news_.push_back(
          fmt::format("changed since: {} {} -> {}{}", change.key, change.before, change.now,
                      rounds ? "; sums are rounded differently from here on" : " (from here on)"));
    };
    for (const SettingChange& change : folder_->changes) tell(change, change.key == kIsaKey);
    const std::int64_t before = threads_before(args).value_or(threads_);
    if (before != threads_)
      tell({"threads", std::to_string(before), std::to_string(threads_)}, true);
  }
  write_file(args, args_text(s_, input, threads_));
  if (const std::string& network = s_.model.network_text(); !network.empty())
    write_file(s_.run.out / kNetworkFile, network);
  if (const KernelChoice choice = s_.kernel_choice(); choice.table != nullptr)
    write_file(s_.run.out / kKernelsFile, choice.table->text());
  const Trainer& trainer = ready_->trainer;
  write_file(s_.run.out / "plan.txt",
             plan_text(trainer.planned().tape(0), trainer.tapes().graph(0)));
  news_.insert(news_.end(), data_.notes.begin(), data_.notes.end());
  if (!data_.skipped.empty()) {
    const std::filesystem::path list = s_.run.out / "bad_files.txt";
    write_file(list, bad_files_text(data_.skipped));
    news_.push_back(fmt::format("{} bad samples are left out; {} lists them", data_.skipped.size(),
                                list.string()));
  }
  if (s_.keeps_statistics())
    news_.emplace_back("BatchNorms keep what --weights brought; --thaw-bn trains them");
  if (const double rate = s_.body_rate(); rate != 1)
    news_.push_back(fmt::format(
        "the body, which begins with weights, learns at {:g} times the rate; --lr-for changes that",
        rate));
  if (!s_.freeze.empty())
    news_.push_back("frozen: " + s_.freeze + "; frozen BatchNorms use their running statistics" +
                    (s_.unfreeze_after > 0
                         ? fmt::format("; {} after epoch {}, in {}", thawing_text(),
                                       s_.unfreeze_after, to_string(Bytes{thawed_bytes_}))
                         : ""));
  if (const std::string text = shard_text(*ready_); !text.empty()) news_.push_back(text);
  if (const std::string text = small_parts_text(); !text.empty()) news_.push_back(text);
  if (const int workers = ready_->run.plan.workers; workers < threads_)
    news_.push_back(fmt::format("{} data worker{} instead of {}: more do not fit the budget",
                                workers, workers == 1 ? "" : "s", threads_));
  if (const std::int64_t per = s_.lr_batch(); per > 0)
    news_.push_back(
        fmt::format("learning rate {:.4g}: {:g} times batch {} / {}{}", s_.run.lr, s_.base_lr(),
                    input.batch, per,
                    s_.run.schedule.warmup > 0
                        ? fmt::format(", after {} steps of warm-up", s_.run.schedule.warmup)
                        : ""));
}

void Training::load(Trainer& trainer) {
  dist::do_on_all(s_.place.group, [&] { trainer.shards().lead([&] { load_here(trainer); }); });
  share_tensors(s_.place.group, trainer);
  from_ = share_state(s_.place.group, from_);
}

void Training::load_here(Trainer& trainer) {
  if (folder_->checkpoint && from_.step == folder_->checkpoint->state.step) {
    load_checkpoint(*folder_->checkpoint, trainer);
  } else if (from_.step > 0) {
    load_checkpoint(Checkpoint(last_checkpoint(s_.run.out)), trainer);
  } else if (!s_.weights.empty()) {
    const Begun begun = begin_with(
        s_.weights, {.by_name = s_.weights_by_name, .optimizer = s_.optimizer_options().name},
        trainer);
    news_.insert(news_.end(), begun.news.begin(), begun.news.end());
    from_.optimizer_steps = begun.optimizer_steps;
  }
}

struct Training::Stage {
  Stage(const Training& of, Trainer& trainer)
      : memory(pipeline_memory(of.s_, of.data_, of.s_.model.input(), of.ready_->run.plan.workers)),
        train(of.data_.train, settings(of, true), memory),
        run(trainer, data(of), of.s_.run, of.from_) {}

  static PipelineSettings settings(const Training& of, bool training) {
    PipelineSettings reading =
        of.s_.pipeline(of.s_.model.input(), training, of.ready_->run.plan.workers);
    reading.on_bad = of.hooks_.on_left_out;
    return reading;
  }
  RunData data(const Training& of) {
    const SourcePtr& validated = of.data_.validation;
    if (validated) validation.emplace(validated, settings(of, false), memory);
    return {.train = train,
            .validation = validated ? &*validation : nullptr,
            .train_samples = of.data_.train->size(),
            .validation_samples = validated ? validated->size() : 0,
            .normalisation = of.s_.normalisation()};
  }

  std::shared_ptr<PipelineMemory> memory;
  Pipeline train;
  std::optional<Pipeline> validation;
  Run run;  // last: it uses the above
};

Training::~Training() = default;

void Training::log_news() {
  if (!s_.place.leads()) return;
  for (const std::string& text : news_) {
    try {
      append_file(s_.run.out / "log.txt", text + "\n");
    } catch (const DataError&) {
      // The run tells of a log that cannot be written.
    }
  }
}

void Training::open_stage() {
  release_free_memory();  // what planning held is not to lie beside the arena
  dist::do_on_all(s_.place.group, [&] {
    ready_->trainer.open(s_.memory.spill);
    check_held(ready_->run.plan, Bytes{budget_.bytes}, budget_.bound_by, memory_usage().now());
  });
  load(ready_->trainer);
  s_.run.predicted_bytes = ready_->run.plan.total_bytes;
  s_.run.ledger = ready_->run.plan.ledger;
  log_news();
  stage_ = std::make_unique<Stage>(*this, ready_->trainer);
}

// Behind the one that is open, if any.
void Training::open_next_stage() {
  const bool is_first = stage_ == nullptr;
  if (!is_first) {
    stage_.reset();
    ready_.reset();
    dist::do_on_all(s_.place.group, [&] {
      if (s_.place.leads()) from_ = Checkpoint(last_checkpoint(s_.run.out)).state;
    });
    from_ = share_state(s_.place.group, from_);
  }
  s_.run.pause_after = thaws() && from_.epoch < s_.unfreeze_after ? s_.unfreeze_after : 0;
  if (thaws() && s_.run.pause_after == 0) ready_.emplace(make_stage(false));
  if (!is_first)
    news_.push_back(
        fmt::format("epoch {}: {} from here on; what thaws learns at {:g} x the rate (--thaw-lr)",
                    from_.epoch + 1, thawing_text(), s_.thaw_lr));
  open_stage();
}

std::optional<RunEvent> Training::next() {
  while (!is_finished_) {
    if (stage_ == nullptr) open_next_stage();
    if (!news_.empty()) {
      Message message{std::move(news_.front())};
      news_.pop_front();
      return message;
    }
    std::optional<RunEvent> event = stage_->run.next();
    if (!event) break;
    const auto* end = std::get_if<Finished>(&*event);
    if (end == nullptr) return event;
    if (end->report.stopped_by == StopReason::pause) {
      open_next_stage();
      continue;
    }
    is_finished_ = true;
    return event;
  }
  return std::nullopt;
}

void Training::stop() {
  if (stage_ != nullptr) stage_->run.stop();
}

}  // namespace plimsoll::job
