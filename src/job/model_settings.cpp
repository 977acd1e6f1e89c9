#include "job/model_settings.h"

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "boxes/detection_record.h"
#include "exec/jobs.h"
#include "interop/imported_file.h"
#include "interop/keras_network.h"
#include "ops/table.h"

namespace plimsoll::job {

struct NamedNetwork::Read {
  std::string model, given;  // what was asked for
  std::string description;
  zoo::Network network;
};

const NamedNetwork::Read& NamedNetwork::read(const std::string& model,
                                             const std::string& description) const {
  if (read_ && read_->model == model && read_->given == description) return *read_;
  std::string text = description;
  const zoo::Network* known = text.empty() ? zoo::find_known(model) : nullptr;
  std::error_code error;
  if (known == nullptr && text.empty()) {
    if (!std::filesystem::is_regular_file(model, error)) known = &zoo::find_network(model);
  }
  if (known == nullptr && text.empty()) {
    interop::ImportedFile file = interop::open_imported(model);
    text = std::move(file.description);
    if (text.empty() && !file.network.empty()) known = zoo::find_known(file.network);
    if (text.empty() && known == nullptr)
      throw UsageError({.where = "--model " + model,
                        .got = file.format + " without a description of its network",
                        .expected =
                            "expected a network of the zoo, or a file that has one: Keras's "
                            "JSON, .keras, or .h5 of a whole model",
                        .hint = "weights alone are given by --weights, beside --model"});
  }
  read_ = std::make_shared<const Read>(
      Read{.model = model,
           .given = description,
           .description = text,
           .network = known != nullptr ? *known : interop::make_network(text, model)});
  return *read_;
}

const zoo::Network& NamedNetwork::find(const std::string& model,
                                       const std::string& description) const {
  return read(model, description).network;
}

const std::string& NamedNetwork::description(const std::string& model,
                                             const std::string& given) const {
  return read(model, given).description;
}

std::string ModelSettings::title() const {
  return network_text().empty() ? network().name : std::filesystem::path(model).stem().string();
}
namespace {

constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::int64_t kLargestImage = 1 << 14;
constexpr std::int64_t kCanvasStep = 32;
constexpr std::int64_t kMostClasses = 1 << 20;

void check_range(const char* option, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw UsageError(
        {.where = option,
         .got = std::to_string(value),
         .expected = "expected " + std::to_string(least) + " to " + std::to_string(most)});
}

}  // namespace

nn::Size2 parse_image_size(const std::string& text) {
  const auto refuse = [&] {
    throw UsageError({.where = "--image",
                      .got = "'" + text + "'",
                      .expected = "expected a size like 299 or 200x300"});
  };
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size()) refuse();
    check_range("--image", value, 1, kLargestImage);
    return value;
  };
  const std::vector<std::string_view> parts = split(text, 'x');
  if (parts.size() > 2) refuse();
  return parts.size() == 2 ? nn::Size2(number(parts[0]), number(parts[1]))
                           : nn::Size2(number(parts[0]));
}

void ModelSettings::set_batch(const std::string& text) {
  batch_max = text == "max";
  if (batch_max) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), batch);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(
        {.where = "--batch", .got = "'" + text + "'", .expected = "expected a number or max"});
  check_range("--batch", batch, 1, kLargestBatch);
}

nn::Input ModelSettings::input() const {
  check_range("--batch", batch, 1, kLargestBatch);
  const zoo::Network& chosen = network();
  const std::int64_t depth = channels == 0 ? chosen.channels : channels;
  check_range("--channels", depth, 1, 4096);
  const bool is_own = image.empty() || image == kDataShape;
  const nn::Size2 size = is_own ? chosen.image : parse_image_size(image);
  // Levels halve what the one before has, and are added up twice as large.
  if (chosen.anchor_base > 0 && (size.h % kCanvasStep != 0 || size.w % kCanvasStep != 0))
    throw UsageError({.where = "--image",
                      .got = image,
                      .expected = "expected multiples of 32 for a detector, or auto"});
  if (precision != "f32" && precision != "bf16")
    throw UsageError(
        {.where = "--precision", .got = "'" + precision + "'", .expected = "expected f32 or bf16"});
  return {.batch = batch,
          .channels = depth,
          .image = size,
          .dtype = is_short() ? DType::bf16 : DType::f32,
          .lanes = lanes_of(this_process().isa)};
}

std::int64_t ModelSettings::class_count() const {
  if (classes == 0) return network().classes;
  check_range("--classes", classes, 1, detects() ? boxes::kMostClasses : kMostClasses);
  return classes;
}

NetworkFactory ModelSettings::factory() const {
  const zoo::Options options{.classes = class_count(), .dropout = dropout, .auxiliary = auxiliary};
  return [build = network().build, options](nn::Builder& net) { return build(net, options); };
}

std::vector<nn::Layer> ModelSettings::layers() const {
  nn::Builder builder(op_table(), input(), nn::Mode::inference);
  const nn::Heads heads = factory()(builder);
  return nn::layers_of(builder, heads);
}

std::vector<std::string> ModelSettings::body() const {
  if (!network().body.empty()) return network().body;
  nn::Builder builder(op_table(), input(), nn::Mode::inference);
  const nn::Heads heads = factory()(builder);
  const nn::Layer* head = nn::find_head(builder.layers(), builder.source_of(heads.logits));
  return {"*", "!" + (head == nullptr ? "" : head->name)};
}

std::vector<Cells> ModelSettings::levels() const {
  nn::Builder builder(op_table(), input(), nn::Mode::inference);
  const nn::Heads heads = factory()(builder);
  std::vector<Cells> cells;
  for (const nn::Level& level : heads.levels) cells.push_back(cells_of(builder.spec(level.deltas)));
  return cells;
}

}  // namespace plimsoll::job
