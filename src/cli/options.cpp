#include "cli/options.h"

#include <fmt/format.h>

#include "base/isa.h"

namespace plimsoll::cli {
namespace {

void add_optimizer_options(CLI::App& command, job::TrainingSettings& s) {
  begin_group(command, "optimiser");
  command.add_option("--optimizer", s.optimizer.name, "sgd, rmsprop, adam or adamw")
      ->default_str("the network's: sgd");
  command.add_option("--momentum", s.momentum, "of sgd and rmsprop")
      ->default_str(fmt::format("{}", s.optimizer.momentum));
  command.add_flag("--nesterov", s.optimizer.nesterov, "sgd looks ahead");
  command.add_option("--weight-decay", s.optimizer.weight_decay)->capture_default_str();
  command
      .add_option("--clip-norm", s.optimizer.clip_norm,
                  "largest norm of all gradients; 0: no limit")
      ->capture_default_str();
  command.add_option("--loss", s.loss.name, "categorical_crossentropy, binary_crossentropy or mse")
      ->capture_default_str();
  command.add_option("--label-smoothing", s.loss.label_smoothing)->capture_default_str();
  command.add_option("--l2", s.l2, "times the sum of squared kernels, added to the loss")
      ->capture_default_str();
  command.add_option("--class-weights", s.class_weights,
                     "balanced, or NAME=WEIGHT separated by commas");
  command.add_option(
      "--freeze", s.freeze,
      "layers that stay as they are: body (all but the head), bn, or names with * and ?, "
      "separated by commas, ! before those that do learn; a frozen BatchNorm uses its "
      "running statistics");
  command.add_option("--lr-for", s.lr_for,
                     "rates of their own: PATTERN=FACTOR of layers, separated by commas");
  command.add_option("--bn-momentum", s.bn_momentum,
                     "of BatchNorm's running statistics; default: the network's own");
  add_shared_statistics(command, s.memory);
  command
      .add_option("--ema", s.average,
                  "keep a moving average of the weights with this decay (0.999); it is what is "
                  "evaluated and saved as best")
      ->capture_default_str();
  command.add_option("--seed", s.seed)->capture_default_str();
}

void add_rate_options(CLI::App& command, job::RunSettings& s) {
  begin_group(command, "optimiser");
  command.add_option("--lr", s.lr, "learning rate; of detectors for 16 images a step")
      ->default_str("the network's: 0.01");
  command
      .add_option("--schedule", s.schedule,
                  "constant, step, exponential, poly, cosine, one-cycle, piecewise, plateau; with "
                  "settings behind a colon: step:every=30e,factor=0.1")
      ->default_str("the network's: constant");
  command.add_option("--warmup", s.warmup, "steps over which the rate climbs")
      ->default_str("the network's: 0");
  command.add_flag("--scale-lr", s.scale_lr, "times batch/256; else --lr is what it says");
  command
      .add_option("--unfreeze-after", s.unfreeze_after,
                  "epochs after which what is frozen thaws, but for BatchNorms")
      ->capture_default_str();
  command.add_option("--thaw-lr", s.thaw_lr, "rate of what was frozen until then, times the rate")
      ->capture_default_str();
  command.add_flag("--thaw-bn", s.thaw_bn,
                   "BatchNorms thaw too, and use the statistics of batches again");
}

void add_data_options(CLI::App& command, job::TrainingSettings& s, const std::string& data) {
  begin_group(command, "data");
  command.add_option("DATA,--data", s.data, data);
  command.add_option("--val", s.validation, "data to validate on after every epoch");
  command.add_option("--val-split", s.val_split, "or this share of the training data")
      ->capture_default_str();
  command.add_option("--augment", s.augment,
                     "random changes: horizontal_flip,zoom_range=0.2,random_resized_crop=0.35:1");
  command.add_option("--normalise", s.normalise,
                     "tf, caffe, torch, slim, scale or none; default: as --weights want, or tf");
  command.add_option("--anchors", s.boxes.anchors,
                     "of detectors: pixels of the smallest anchor, or auto: those that reach most "
                     "boxes of the data; default: the network's own");
  command.add_option("--resize", s.resize, "nearest, bilinear, bicubic, area; -antialias")
      ->capture_default_str();
  command.add_option("--bad-files", s.bad_files, "stop, or skip what cannot be read")
      ->capture_default_str();
  command.add_flag("--drop-last", s.drop_last, "leave out the partial last batch");
  add_options(command, s.reading);
}

void add_sharding(CLI::App& command, job::MemorySettings& s) {
  command.add_flag("--shard-optimizer", s.shard_optimizer,
                   "ranks share out what the optimizer remembers and averages; lossless, and taken "
                   "where the budget needs it");
}

void add_watch_options(CLI::App& command, job::RunSettings& s) {
  begin_group(command, "watch");
  command.add_option("--watch", s.watch, "loss, layers (and look into them now and then) or off")
      ->capture_default_str();
  command.add_option("--on-diverge", s.on_diverge, "warn, stop or rollback")->capture_default_str();
  command.add_option("--on-stall", s.on_stall, "warn or stop")->capture_default_str();
  command.add_option("--on-plateau", s.on_plateau, "warn or stop")->capture_default_str();
  command.add_option("--early-stop", s.run.early_stop, "epochs without a better one; 0: never")
      ->capture_default_str();
  command
      .add_option("--monitor", s.monitor,
                  "what is better: val_loss, val_accuracy, of detectors val_map, val_map50")
      ->default_str("val_loss, of detectors val_map");
  command.add_flag("--histograms", s.run.histograms, "of the weights, for TensorBoard");
}

}  // namespace

void add_shared_statistics(CLI::App& command, job::MemorySettings& s) {
  command
      .add_option(
          "--bn", s.bn,
          "statistics of BatchNorm: local, of each part of a batch (--accumulate), or sync, "
          "of all of it, with all parts of a process in memory at once")
      ->capture_default_str();
}

void begin_group(CLI::App& command, const std::string& name) {
  command.option_defaults()->group(name);
}

void add_options(CLI::App& command, job::ModelSettings& s) {
  begin_group(command, "network");
  command
      .add_option(
          "--model", s.model,
          "network of the zoo (`plimsoll summary --list`), or a file that describes one: Keras's "
          "JSON, .keras, .h5")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--batch", [&s](const std::string& text) { s.set_batch(text); },
          "images per update, or max: the largest that fits the budget")
      ->default_str(std::to_string(s.batch));
  command.add_option("--image", s.image,
                     "input size: HxW or one number; of detectors auto, the data's shape");
  command.add_option("--channels", s.channels, "input channels");
  command.add_option("--classes", s.classes, "width of the head");
  command.add_option("--dropout", s.dropout, "rate before the head; default: the network's own");
  command.add_flag("--aux", s.auxiliary, "add the auxiliary head (inception_v3)");
  command
      .add_option("--precision", s.precision,
                  "of what lies between layers: f32, or bf16, which takes half the memory (lossy; "
                  "weights, sums and losses stay f32)")
      ->capture_default_str();
  command
      .add_option("--isa", s.isa,
                  "instructions of all kernels: avx2, avx512 or avx512_bf16; the same ones round "
                  "alike on processors of two kinds")
      ->default_str(std::string(name_of(best_isa())));
}

void add_options(CLI::App& command, job::MemorySettings& s) {
  begin_group(command, "memory");
  command.add_option("--memory", s.memory,
                     "budget of the whole process: 2GiB, 1.5GB, bytes, or unlimited; default: what "
                     "the container and the machine leave");
  command.add_option("--stash", s.stash, "what is kept for backward: f32, or f16 (lossy)")
      ->capture_default_str();
  command.add_option("--spill", s.spill, "directory of a file for what does not fit; lossless");
  command
      .add_option("--accumulate", s.accumulate,
                  "micro-batches per update; BatchNorm sees each on its own")
      ->capture_default_str();
}

void add_options(CLI::App& command, job::DataSettings& s) {
  begin_group(command, "data");
  command.add_option("--part", s.part, "part of a set in parts: train, val, test; VOC: any list");
  command.add_option("--cache", s.cache, "folder to unpack compressed TFRecord files into, once");
  command.add_option("--images", s.images, "COCO, CSV: folder of the pictures");
  command.add_option("--read-as", s.read_as,
                     "classes or boxes, where both would do; of a CSV also labels (any number of "
                     "them) or numbers, after the path");
  command.add_option("--label-map", s.label_map, "TFRecord: names of classes (.pbtxt, or a list)");
  command.add_option("--record-image", s.record_image, "TFRecord: key of the encoded image");
  command.add_option("--record-label", s.record_label, "TFRecord: key of the class");
  command.add_option("--record-boxes", s.record_boxes,
                     "TFRecord: what stands before /bbox/xmin and /class/label");
  command.add_option("--first-label", s.first_label,
                     "TFRecord: number of the first class (default 0, with boxes 1)");
}

void add_options(CLI::App& command, job::TrainingSettings& s, const std::string& data) {
  add_options(command, s.model);
  add_options(command, s.memory);
  add_sharding(command, s.memory);
  add_threads(command, s.threads);
  add_kernels(command, s.kernels);
  add_data_options(command, s, data);
  add_optimizer_options(command, s);
}

void add_options(CLI::App& command, job::RunSettings& s, const std::string& data) {
  add_options(command, s.model);
  add_options(command, s.memory);
  add_sharding(command, s.memory);
  add_threads(command, s.threads);
  add_kernels(command, s.kernels);
  add_data_options(command, s, data);
  add_rate_options(command, s);
  add_optimizer_options(command, s);
  begin_group(command, "run");
  command.add_option("--epochs", s.run.epochs, "times through the data")->capture_default_str();
  command.add_option("--steps", s.run.steps, "stop after this many steps; 0: no limit")
      ->capture_default_str();
  command.add_option("--out", s.out,
                     "run directory; default: the first free of runs/<model>, runs/<model>2, ...");
  command.add_option("--resume", s.resume, "go on with this run directory, with its options");
  command.add_flag("--fresh", s.fresh, "a new run, even if one like it was left unfinished");
  add_weights(command, s);
  command.add_option("--save-every", s.save_every, "steps, or a time: 100, 30s, 5min, 2h")
      ->capture_default_str();
  command.add_option("--keep", s.run.save.keep, "checkpoints to keep")->capture_default_str();
  add_watch_options(command, s);
}

void add_weights(CLI::App& command, job::TrainingSettings& s) {
  command.add_option("--weights", s.weights,
                     "file to begin with: safetensors, Keras .h5, .weights.h5, .keras, PyTorch "
                     ".pth, a TensorFlow checkpoint");
  command.add_flag("--weights-by-name", s.weights_by_name,
                   "layers of that file by their names, and those alone that match; else all, by "
                   "their order");
}

void add_kernels(CLI::App& command, std::string& kernels) {
  command.add_option("--kernels", kernels,
                     "table of kernels that `bench --tune` made; default: by rule");
}

void add_normalise(CLI::App& command, std::string& normalise) {
  command.add_option("--normalise", normalise,
                     "tf, caffe, torch, slim, scale or none; default: as the weights say");
}

void add_threads(CLI::App& command, std::optional<std::int64_t>& threads) {
  command.add_option("--threads", threads, "default: the cores the process may use");
}

void CommonOptions::add_to(CLI::App& command) {
  begin_group(command, kOutputGroup);
  command.add_flag("--json", json, "one JSON object on standard output");
  command.add_flag("--quiet", quiet, "no progress lines");
  command.add_option("--config", config,
                     "TOML file with any long option as a key; the command line wins");
}

job::Budget budget_of(const job::MemorySettings& settings) {
  job::Budget budget = job::find_budget(settings);
  if (!budget.warning.empty()) fmt::print(stderr, "plimsoll: {}\n", budget.warning);
  return budget;
}

}  // namespace plimsoll::cli
