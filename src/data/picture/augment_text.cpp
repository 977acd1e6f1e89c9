// The text form of augmentation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/picture/augment.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kFillModes = {"constant", "nearest", "reflect", "wrap"};

// One `name=value` of the text.
struct Setting {
  std::string_view name;
  std::string_view value;
  bool has_value;
  std::string_view where;

  [[noreturn]] void refuse(std::string expected) const {
    throw UsageError({.where = std::string(where),
                      .got = has_value ? fmt::format("{}={}", name, value)
                                       : fmt::format("{} without a value", name),
                      .expected = std::move(expected)});
  }

  // Numbers separated by colons, each within [low, high].
  std::vector<double> numbers(double low, double high, std::string_view expected) const {
    std::vector<double> all;
    if (!has_value) return all;
    for (const std::string_view piece : split(value, ':')) {
      double number = 0;
      const char* end = piece.data() + piece.size();
      const auto [rest, error] = std::from_chars(piece.data(), end, number);
      if (error != std::errc() || rest != end || !(number >= low) || !(number <= high))
        refuse(fmt::format("expected {}", expected));
      all.push_back(number);
    }
    return all;
  }
  double number(double low, double high, std::string_view expected) const {
    const std::vector<double> all = numbers(low, high, expected);
    if (all.size() != 1) refuse(fmt::format("expected {}", expected));
    return all[0];
  }
  // low:high, or one number d for around:  around - d to around + d.
  Range range(double high, std::string_view expected, std::optional<double> around = {}) const {
    const std::vector<double> all = numbers(0, high, expected);
    if (all.size() == 1 && around && all[0] <= *around) return {*around - all[0], *around + all[0]};
    if (all.size() != 2 || all[0] > all[1]) refuse(fmt::format("expected {}", expected));
    return {all[0], all[1]};
  }
  bool flag() const {
    if (!has_value || value == "true") return true;
    if (value != "false") refuse("expected the name alone, or true or false");
    return false;
  }
};

std::string print(const Range& range) { return fmt::format("{}:{}", range.low, range.high); }

// Reads and prints one name. Printing gives nothing where the value is the default.
struct Key {
  std::string_view name;
  void (*read)(const Setting&, Augment&);
  std::string (*print)(const Augment&);
};

template <double Augment::*member>
std::string print_number(const Augment& augment) {
  return augment.*member == Augment{}.*member ? "" : fmt::format("{}", augment.*member);
}

template <bool Augment::*member>
Key flag(std::string_view name) {
  return {name, [](const Setting& s, Augment& a) { a.*member = s.flag(); },
          [](const Augment& a) { return std::string(a.*member ? "true" : ""); }};
}

template <std::optional<Range> Augment::*member>
std::string print_range(const Augment& augment) {
  return augment.*member ? print(*(augment.*member)) : "";
}

RandomResizedCrop read_crop(const Setting& s) {
  constexpr std::string_view kExpected =
      "expected scale as low:high within 0..1, and perhaps :low:high of width to height";
  constexpr double kMost = 100;
  RandomResizedCrop crop;
  const std::vector<double> all = s.numbers(1e-4, kMost, kExpected.substr(9));
  if (all.empty()) return crop;
  if (all.size() != 2 && all.size() != 4) s.refuse(std::string(kExpected));
  crop.scale = {all[0], all[1]};
  if (all.size() == 4) crop.ratio = {all[2], all[3]};
  if (crop.scale.low > crop.scale.high || crop.scale.high > 1 || crop.ratio.low > crop.ratio.high)
    s.refuse(std::string(kExpected));
  return crop;
}

void read_fill_mode(const Setting& s, Augment& a) {
  const auto found = std::ranges::find(kFillModes, s.value);
  if (found == kFillModes.end()) s.refuse("expected constant, nearest, reflect or wrap");
  a.fill_mode = static_cast<FillMode>(found - kFillModes.begin());
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = {
      {"rotation_range",
       [](const Setting& s, Augment& a) { a.rotation_range = s.number(0, 180, "degrees, 0..180"); },
       print_number<&Augment::rotation_range>},
      {"width_shift_range",
       [](const Setting& s, Augment& a) {
         a.width_shift_range = s.number(0, 65536, "a share below 1, or pixels");
       },
       print_number<&Augment::width_shift_range>},
      {"height_shift_range",
       [](const Setting& s, Augment& a) {
         a.height_shift_range = s.number(0, 65536, "a share below 1, or pixels");
       },
       print_number<&Augment::height_shift_range>},
      {"brightness_range",
       [](const Setting& s, Augment& a) {
         a.brightness_range = s.range(100, "factors low:high, as 0.8:1.2");
       },
       print_range<&Augment::brightness_range>},
      {"shear_range",
       [](const Setting& s, Augment& a) { a.shear_range = s.number(0, 89, "degrees, 0..89"); },
       print_number<&Augment::shear_range>},
      {"zoom_range",
       [](const Setting& s, Augment& a) {
         a.zoom_range = s.range(100, "a number below 1, or factors low:high above 0", 1.0);
         if (a.zoom_range.low <= 0) s.refuse("expected a number below 1, or low:high above 0");
       },
       [](const Augment& a) {
         return a.zoom_range == Augment{}.zoom_range ? "" : print(a.zoom_range);
       }},
      {"channel_shift_range",
       [](const Setting& s, Augment& a) {
         a.channel_shift_range = s.number(0, 255, "levels, 0..255");
       },
       print_number<&Augment::channel_shift_range>},
      flag<&Augment::horizontal_flip>("horizontal_flip"),
      flag<&Augment::vertical_flip>("vertical_flip"),
      {"fill_mode", read_fill_mode,
       [](const Augment& a) {
         return std::string(a.fill_mode == Augment{}.fill_mode
                                ? ""
                                : kFillModes.at(static_cast<std::size_t>(a.fill_mode)));
       }},
      {"cval", [](const Setting& s, Augment& a) { a.cval = s.number(0, 255, "a level, 0..255"); },
       print_number<&Augment::cval>},
      {"rescale",
       [](const Setting& s, Augment& a) { a.rescale = s.number(1e-12, 1e12, "a factor above 0"); },
       [](const Augment& a) { return a.rescale ? fmt::format("{}", *a.rescale) : ""; }},
      {"random_resized_crop",
       [](const Setting& s, Augment& a) { a.random_resized_crop = read_crop(s); },
       [](const Augment& a) {
         return a.random_resized_crop ? print(a.random_resized_crop->scale) + ":" +
                                            print(a.random_resized_crop->ratio)
                                      : "";
       }},
      {"contrast",
       [](const Setting& s, Augment& a) {
         a.contrast = s.range(100, "a number below 1, or factors low:high", 1.0);
       },
       print_range<&Augment::contrast>},
      {"saturation",
       [](const Setting& s, Augment& a) {
         a.saturation = s.range(100, "a number below 1, or factors low:high", 1.0);
       },
       print_range<&Augment::saturation>},
      {"hue",
       [](const Setting& s, Augment& a) {
         a.hue = s.number(0, 0.5, "a share of the circle, 0..0.5");
       },
       print_number<&Augment::hue>},
      {"cutout",
       [](const Setting& s, Augment& a) { a.cutout = s.number(0, 1, "a share of the side, 0..1"); },
       print_number<&Augment::cutout>},
      {"mixup", [](const Setting& s, Augment& a) { a.mixup = s.number(0, 100, "alpha, as 0.2"); },
       print_number<&Augment::mixup>},
  };
  return all;
}

[[noreturn]] void refuse_name(std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const Key& key : keys()) names.push_back(key.name);
  throw UsageError({.where = std::string(where),
                    .got = fmt::format("no augmentation is named '{}'", name),
                    .expected = fmt::format("expected one of {}", fmt::join(names, ", ")),
                    .hint = did_you_mean(nearest(name, names))});
}

}  // namespace

Augment parse_augment(std::string_view text, std::string_view where) {
  Augment augment;
  if (trim(text).empty() || trim(text) == "none") return augment;
  std::vector<std::string_view> seen;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view piece = trim(part);
    const std::size_t equals = piece.find('=');
    const bool has_value = equals != std::string_view::npos;
    const Setting setting{.name = trim(piece.substr(0, equals)),
                          .value = has_value ? trim(piece.substr(equals + 1)) : "",
                          .has_value = has_value,
                          .where = where};
    const auto key = std::ranges::find(keys(), setting.name, &Key::name);
    if (key == keys().end()) refuse_name(setting.name, where);
    if (std::ranges::find(seen, setting.name) != seen.end())
      throw UsageError({.where = std::string(where),
                        .got = fmt::format("{} given twice", setting.name),
                        .expected = "expected each name once"});
    seen.push_back(setting.name);
    key->read(setting, augment);
  }
  return augment;
}

std::string to_text(const Augment& augment) {
  std::vector<std::string> parts;
  for (const Key& key : keys()) {
    const std::string value = key.print(augment);
    if (value.empty()) continue;
    parts.push_back(value == "true" ? std::string(key.name)
                                    : fmt::format("{}={}", key.name, value));
  }
  return parts.empty() ? "none" : join(parts, ",");
}

void check_for_boxes(const Augment& augment, std::string_view where) {
  constexpr std::array<std::string_view, 7> kRefused = {
      "rotation_range", "width_shift_range", "height_shift_range",
      "shear_range",    "zoom_range",        "cutout",
      "mixup"};
  for (const Key& key : keys()) {
    if (std::ranges::find(kRefused, key.name) == kRefused.end() || key.print(augment).empty())
      continue;
    throw UsageError(
        {.where = std::string(where),
         .got = fmt::format("{}={}, which boxes do not follow", key.name, key.print(augment)),
         .expected = "expected, with boxes, some of horizontal_flip, vertical_flip, "
                     "random_resized_crop, brightness_range, contrast, saturation, hue, "
                     "channel_shift_range"});
  }
}

}  // namespace plimsoll
