#include "job/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <type_traits>

#include "base/error.h"
#include "base/isa.h"
#include "base/text.h"
#include "job/toml_options.h"

namespace plimsoll::job {
namespace {

// Names a place, which is to be found again from anywhere.
struct Place {
  std::string& path;
};

// Says every option to `visit`: its name, where it is held, and the value that says "not given", if
// there is one.
template <class Visit>
void visit_model(ModelSettings& s, const Visit& visit) {
  visit("model", s.model);
  visit("batch", s.batch);
  visit("image", s.image);
  visit("channels", s.channels, 0);
  visit("classes", s.classes, 0);
  visit("dropout", s.dropout, -1.0);
  visit("aux", s.auxiliary);
  visit("precision", s.precision);
  visit("isa", s.isa);
}

template <class Visit>
void visit_data(TrainingSettings& s, const Visit& visit) {
  visit("data", Place{s.data});
  visit("val", Place{s.validation});
  visit("val-split", s.val_split);
  visit("part", s.reading.part);
  visit("cache", Place{s.reading.cache});
  visit("images", Place{s.reading.images});
  visit("read-as", s.reading.read_as);
  visit("label-map", Place{s.reading.label_map});
  visit("record-image", s.reading.record_image);
  visit("record-label", s.reading.record_label);
  visit("record-boxes", s.reading.record_boxes);
  visit("first-label", s.reading.first_label);
  visit("augment", s.augment);
  visit("resize", s.resize);
  visit("normalise", s.normalise);
  visit("bad-files", s.bad_files);
  visit("drop-last", s.drop_last);
  visit("class-weights", s.class_weights);
  visit("anchors", s.boxes.anchors);
}

template <class Visit>
void visit_training(TrainingSettings& s, const Visit& visit) {
  visit("threads", s.threads);
  visit("kernels", Place{s.kernels});
  visit("memory", s.memory.memory);
  visit("stash", s.memory.stash);
  visit("spill", Place{s.memory.spill});
  visit("accumulate", s.memory.accumulate);
  visit("optimizer", s.optimizer.name);
  visit("momentum", s.momentum);
  visit("nesterov", s.optimizer.nesterov);
  visit("weight-decay", s.optimizer.weight_decay);
  visit("clip-norm", s.optimizer.clip_norm);
  visit("loss", s.loss.name);
  visit("label-smoothing", s.loss.label_smoothing);
  visit("l2", s.l2);
  visit("freeze", s.freeze);
  visit("lr-for", s.lr_for);
  visit("thaw-lr", s.thaw_lr);
  visit("thaw-bn", s.thaw_bn);
  visit("bn-momentum", s.bn_momentum, 0.0);
  visit("bn", s.memory.bn);
  visit("ema", s.average);
  visit("seed", s.seed);
}

template <class Visit>
void visit_options(RunSettings& s, const Visit& visit) {
  visit_model(s.model, visit);
  visit_data(s, visit);
  visit_training(s, visit);
  visit("epochs", s.run.epochs);
  visit("steps", s.run.steps);
  visit("lr", s.lr);
  visit("scale-lr", s.scale_lr);
  visit("schedule", s.schedule);
  visit("warmup", s.warmup);
  visit("weights", Place{s.weights});
  visit("weights-by-name", s.weights_by_name);
  visit("unfreeze-after", s.unfreeze_after);
  visit("early-stop", s.run.early_stop);
  visit("monitor", s.monitor);
  visit("save-every", s.save_every);
  visit("keep", s.run.save.keep);
  visit("watch", s.watch);
  visit("on-diverge", s.on_diverge);
  visit("on-stall", s.on_stall);
  visit("on-plateau", s.on_plateau);
  visit("histograms", s.run.histograms);
}

// Also where the word is a pattern. A set with a name of its own and ~ are left alone.
std::string absolute_place(const std::string& text) {
  if (text.empty() || text == "fashion-mnist" || text.starts_with('~')) return text;
  return std::filesystem::absolute(text).string();
}

// Takes what says something: no flag that is not set, no empty text.
class Writer {
 public:
  explicit Writer(std::map<std::string, OptionValue>& options) : options_(options) {}

  void operator()(const char* name, bool held) const {
    if (held) options_[name] = true;
  }
  void operator()(const char* name, const std::string& held) const {
    if (!held.empty()) options_[name] = held;
  }
  void operator()(const char* name, const Place& held) const {
    (*this)(name, absolute_place(held.path));
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& held) const {
    if (held) options_[name] = *held;
  }
  void operator()(const char* name, std::int64_t held) const { options_[name] = held; }
  void operator()(const char* name, double held) const { options_[name] = held; }
  template <class T>
  void operator()(const char* name, T held, std::type_identity_t<T> absent) const {
    if (held != absent) options_[name] = held;
  }

 private:
  std::map<std::string, OptionValue>& options_;
};

template <class T>
constexpr const char* kKind = std::is_same_v<T, bool>           ? "expected true or false"
                              : std::is_same_v<T, std::int64_t> ? "expected a whole number"
                              : std::is_same_v<T, double>       ? "expected a number"
                                                                : "expected a text";

// Puts what `make` makes of the wanted type into the option of one name.
template <class Make>
class Reader {
 public:
  Reader(std::string_view wanted, const Make& make, bool& taken)
      : wanted_(wanted), make_(make), taken_(taken) {}

  void operator()(std::string_view name, const Place& held) const { (*this)(name, held.path); }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& held) const {
    T value{};
    (*this)(name, value);
    if (name == wanted_) held = value;
  }
  template <class T>
  void operator()(std::string_view name, T& held, std::type_identity_t<T> = {}) const {
    if (name != wanted_) return;
    make_(held);
    taken_ = true;
  }

 private:
  std::string_view wanted_;
  const Make& make_;
  bool& taken_;
};

template <class Make>
void take_option(RunSettings& settings, const std::string& name, const std::string& where,
                 const Make& make) {
  bool taken = false;
  visit_options(settings, Reader<Make>(name, make, taken));
  if (!taken)
    throw UsageError({.where = where,
                      .got = "unknown key '" + name + "'",
                      .expected = "expected a long option of `plimsoll train`",
                      .hint = did_you_mean(nearest(name, args_names()))});
}

template <class T>
void read_value(const TomlOption& option, T& held) {
  const OptionValue& value = option.value();
  if (const T* same = std::get_if<T>(&value)) {
    held = *same;
    return;
  }
  if constexpr (std::is_same_v<T, double>)
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      held = static_cast<double>(*whole);
      return;
    }
  throw UsageError({.where = option.where,
                    .got = option.key + " has a value of another type",
                    .expected = kKind<T>});
}

template <class T>
void read_text(const std::string& name, const std::string& text, T& held) {
  bool good = true;
  if constexpr (std::is_same_v<T, std::string>) {
    held = text;
  } else if constexpr (std::is_same_v<T, bool>) {
    good = text == "true" || text == "false";
    held = text == "true";
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), held);
    good = error == std::errc() && end == text.data() + text.size();
  }
  if (!good)
    throw UsageError({.where = "--" + name, .got = "'" + text + "'", .expected = kKind<T>});
}

}  // namespace

std::string args_text(const RunSettings& settings, const nn::Input& input, int threads) {
  RunSettings s = settings;
  s.model.batch = input.batch;
  s.model.image = fmt::format("{}x{}", input.image.h, input.image.w);
  s.model.channels = input.channels;
  s.model.classes = settings.model.class_count();
  s.model.isa = name_of(process_isa());
  s.optimizer.name = settings.optimizer_options().name;
  s.momentum = settings.optimizer_options().momentum;
  s.augment = settings.augmentation();
  s.lr = settings.base_lr();
  s.schedule = settings.schedule_name();
  s.monitor = settings.monitor_name();
  s.warmup = settings.warmup.value_or(settings.run.schedule.warmup);
  s.threads = threads;
  if (!settings.model.network_text().empty())
    s.model.model = std::filesystem::absolute(settings.run.out / kNetworkFile).string();
  if (!settings.kernels.empty())
    s.kernels = std::filesystem::absolute(settings.run.out / kKernelsFile).string();
  std::map<std::string, OptionValue> options;
  visit_options(s, Writer(options));
  return options_text(options);
}

void read_args(const std::filesystem::path& path, RunSettings& settings) {
  for (const TomlOption& option : read_options(path))
    take_option(settings, option.key, option.where, [&](auto& held) { read_value(option, held); });
}

void set_option(RunSettings& settings, const std::string& name, const std::string& text) {
  if (name == "batch") return settings.model.set_batch(text);
  take_option(settings, name, "--" + name, [&](auto& held) { read_text(name, text, held); });
}

std::vector<std::string> args_names() {
  RunSettings settings;
  std::vector<std::string> names;
  visit_options(settings, [&](const char* name, const auto&...) { names.emplace_back(name); });
  std::ranges::sort(names);
  return names;
}

std::optional<std::int64_t> threads_before(const std::filesystem::path& path) {
  try {
    for (const TomlOption& option : read_options(path))
      if (option.key == "threads" && option.found)
        if (const auto* threads = std::get_if<std::int64_t>(&*option.found)) return *threads;
  } catch (const UsageError&) {
    // As good as one that does not say.
  }
  return std::nullopt;
}

}  // namespace plimsoll::job
