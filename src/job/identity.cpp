#include "job/identity.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/isa.h"
#include "base/random.h"
#include "draw/mosaic.h"
#include "exec/kernel_table.h"
#include "task/class_counts.h"

namespace plimsoll::job {
namespace {

std::string number_text(double value) { return to_string(AttrValue(value)); }

}  // namespace

std::string fingerprint(const Source& source) {
  std::uint64_t hash = fnv1a64("samples");
  const auto add = [&](std::string_view text) { hash = splitmix64(hash ^ fnv1a64(text)); };
  for (std::int64_t i = 0; i < source.size(); ++i)
    add(fmt::format("{} {} {}", std::filesystem::path(source.path(i)).filename().string(),
                    source.number(i), source.label(i)));
  for (std::int64_t i = 0; i < source.size(); ++i) {
    for (std::int32_t label : source.labels(i)) add(std::to_string(label));
    for (float number : source.numbers(i)) add(fmt::format("{:a}", number));
    for (const Box& box : source.boxes(i))
      add(fmt::format("{:a} {:a} {:a} {:a} {}", box.x0, box.y0, box.x1, box.y1, box.label));
  }
  for (const std::string& name : source.class_names()) add(name);
  return fmt::format("{} samples of {} classes ({:016x})", source.size(),
                     source.class_names().size(), hash);
}

RunIdentity identity_of(const RunSettings& s, const TrainingData& loaded, const nn::Input& input) {
  const OptimizerOptions optimizer = s.optimizer_options();
  RunIdentity identity;
  identity.is = {{"model", s.model.network().name},
                 {"image", fmt::format("{}x{}", input.image.h, input.image.w)},
                 {"channels", std::to_string(input.channels)},
                 {"classes", std::to_string(s.model.class_count())},
                 {"class_names", nlohmann::json(loaded.train->class_names()).dump()},
                 {"dropout", number_text(s.model.dropout)},
                 {"auxiliary head", s.model.auxiliary ? "yes" : "no"},
                 {"optimizer", optimizer.name},
                 {"bn", s.memory.bn},
                 {"loss", s.loss.name},
                 {"data", fingerprint(*loaded.train)},
                 {"pictures", fmt::format("content {:016x}", loaded.train_content)},
                 {"seed", std::to_string(s.seed)}};
  if (const std::string& text = s.model.network_text(); !text.empty())
    identity.is["network"] = text;
  if (s.model.detects()) identity.is["anchors"] = std::to_string(s.boxes.base(s.model.network()));
  // Of one label each nothing is said, as ever.
  if (const TargetKind kind = loaded.train->target_kind(); kind != TargetKind::label)
    identity.is["targets"] = to_string(kind);
  identity.with = {{"batch", std::to_string(input.batch)},
                   {"accumulate", std::to_string(s.memory.accumulate)},
                   {"stash", s.memory.stash},
                   {"lr", number_text(s.run.lr)},
                   {"schedule", s.run.schedule.name},
                   {"warmup", std::to_string(s.run.schedule.warmup)},
                   {"momentum", number_text(optimizer.momentum)},
                   {"nesterov", optimizer.nesterov ? "yes" : "no"},
                   {"weight-decay", number_text(optimizer.weight_decay)},
                   {"clip-norm", number_text(optimizer.clip_norm)},
                   {"label-smoothing", number_text(s.loss.label_smoothing)},
                   {"l2", number_text(s.l2)},
                   {"augment", s.augmentation()},
                   {"resize", s.resize},
                   {"normalise", s.normalise},
                   {"drop-last", s.drop_last ? "yes" : "no"},
                   {"freeze", s.freeze},
                   {"unfreeze-after", std::to_string(s.unfreeze_after)},
                   {"lr-for", s.lr_for},
                   {"ema", number_text(s.average)},
                   {"bn-momentum", number_text(s.bn_momentum)},
                   {"class-weights", s.class_weights},
                   {"validation", loaded.validation ? fmt::format("{}, content {:016x}",
                                                                  fingerprint(*loaded.validation),
                                                                  loaded.validation_content)
                                                    : "none"}};
  identity.with[kIsaKey] = name_of(process_isa());
  if (s.model.is_short()) identity.with["precision"] = s.model.precision;
  if (const double rate = s.body_rate(); rate != 1) identity.with["body-lr"] = number_text(rate);
  if (s.unfreeze_after > 0) {
    identity.with["thaw-lr"] = number_text(s.thaw_lr);
    identity.with["thaw-bn"] = s.thaw_bn ? "true" : "false";
  }
  if (const KernelChoice choice = s.kernel_choice(); choice.table != nullptr)
    identity.with["kernels"] = fmt::format("table {:016x}", fnv1a64(choice.table->text()));
  return identity;
}

RunFiles files_of(const RunSettings& settings, const TrainingData& loaded, const nn::Input& input) {
  const RunOptions& run = settings.run;
  const std::int64_t epoch = loaded.train->size() / std::max<std::int64_t>(1, input.batch) + 1;
  const std::int64_t steps = run.steps > 0 ? run.steps : epoch * run.epochs;
  const std::int64_t epochs = steps / epoch + 1;
  const std::int64_t checkpoints = run.save.keep + 1;
  std::int64_t names = 0;
  for (const std::string& name : loaded.train->class_names()) names += std::ssize(name) + 8;
  // The plan, the log, pictures and what else has one size, the sheet of the first batch twice; of
  // every step and epoch events and rows; a checkpoint's header has the names of the classes.
  const std::int64_t sheet = draw::mosaic_bytes(
      kSheetTiles, {.width = input.image.w, .height = input.image.h, .channels = input.channels});
  const std::int64_t once = (std::int64_t{3} << 20) + 2 * sheet;
  constexpr std::int64_t kPerStep = 64;
  constexpr std::int64_t kPerEpoch = 2048;
  constexpr std::int64_t kPerConfusion = 256;  // of two classes: a cell of the picture, replaced
  const auto classes = std::ssize(loaded.train->class_names());
  const std::int64_t cells = ClassCounts::cells(classes);
  return {.checkpoints = checkpoints,
          .weights = loaded.validation ? 1 : 0,
          .histograms = run.histograms ? epochs : 0,
          .records = once + kPerStep * steps + kPerEpoch * epochs + kPerConfusion * cells +
                     (checkpoints + 1) * names};
}

}  // namespace plimsoll::job
