#include "job/model_settings.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll::job {
namespace {

constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::int64_t kLargestImage = 1 << 14;
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
  return {.batch = batch,
          .channels = depth,
          .image = image.empty() ? nn::Size2(chosen.image) : parse_image_size(image)};
}

std::int64_t ModelSettings::class_count() const {
  if (classes == 0) return network().classes;
  check_range("--classes", classes, 1, kMostClasses);
  return classes;
}

NetworkFactory ModelSettings::factory() const {
  const zoo::Options options{.classes = class_count(), .dropout = dropout, .auxiliary = auxiliary};
  return [build = network().build, options](nn::Builder& net) { return build(net, options); };
}

}  // namespace plimsoll::job
