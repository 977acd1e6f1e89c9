#include "data/picture/resizer.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

std::size_t count_of(std::int64_t count) { return static_cast<std::size_t>(count); }

// A stretch of the upright image, in pixels of the part that covers it.
Stretch stretch(std::int64_t begin, std::int64_t length, std::int64_t covered_from,
                std::int64_t scale, std::int64_t limit) {
  return {static_cast<double>(begin - covered_from) / static_cast<double>(scale),
          static_cast<double>(length) / static_cast<double>(scale), limit};
}

}  // namespace

void Resizer::begin(const StoredPart& part, Room& room) {
  const Rect& crop = request_.crop;
  const std::int64_t scale = part.coverage.scale;
  const Size size = upright(part.size, request_.orientation);
  const Rect covered = upright(
      Rect{part.coverage.x, part.coverage.y, part.size.width * scale, part.size.height * scale},
      request_.orientation, request_.stored);
  expect(part.channels == request_.channels, "an image of other channels than asked for");
  expect(crop.width > 0 && crop.height > 0 && crop.x >= covered.x && crop.y >= covered.y &&
             crop.x + crop.width <= covered.x + covered.width &&
             crop.y + crop.height <= covered.y + covered.height,
         "a crop outside of what was decoded");
  turn_ = turn_of(request_.orientation);
  const Stretch columns = stretch(crop.x, crop.width, covered.x, scale, size.width);
  const Stretch rows = stretch(crop.y, crop.height, covered.y, scale, size.height);
  lines_ = turn_.transpose ? columns : rows;
  pixels_ = turn_.transpose ? rows : columns;
  comes_backwards_ = turn_.transpose ? turn_.mirror_x : turn_.mirror_y;
  line_taps_ = Taps::make(lines_, turn_.transpose ? request_.out.width : request_.out.height,
                          request_.how, room);
  pixel_taps_ = Taps::make(pixels_, turn_.transpose ? request_.out.height : request_.out.width,
                           request_.how, room);
  row_bytes_ = part.size.width * part.channels;
  next_ = comes_backwards_ ? line_taps_.out - 1 : 0;
  const auto takes = [&](auto& span, std::int64_t count) {
    span = room.take_array<typename std::decay_t<decltype(span)>::element_type>(count_of(count));
  };
  // Of a transposed image a row is used up when it has come, and so it is by nearest.
  held_ = turn_.transpose || is_nearest() ? 1 : std::min(line_taps_.count, lines_.limit);
  takes(buffers_, held_ * row_bytes_);
  takes(held_rows_, held_);
  if (is_nearest()) return;
  if (turn_.transpose) {
    takes(columns_, line_taps_.count * request_.out.height * request_.channels);
    takes(column_sources_, line_taps_.count);
    return;
  }
  if (turn_.mirror_x) pixel_taps_.mirror_input(pixels_.limit);
  if (request_.mirror_x) pixel_taps_.mirror_output();
  // Only the pixels that are used are blended; the table is counted from the first of them.
  const auto [least, greatest] = std::ranges::minmax(pixel_taps_.first);
  const std::int64_t right = std::min(greatest + pixel_taps_.count, pixels_.limit);
  left_ = least;
  for (std::int32_t& first : pixel_taps_.first) first -= least;
  used_bytes_ = (right - left_) * request_.channels;
  takes(line_, used_bytes_ + pixel_taps_.count * request_.channels + kernels::kLineSlack);
  takes(sources_, line_taps_.count);
}

void Resizer::feed(std::int64_t y, const std::uint8_t* row) noexcept {
  const std::int64_t line = line_of(y);
  const auto first = [&] {
    return std::int64_t{line_taps_.first[static_cast<std::size_t>(next_)]};
  };
  const auto last = [&] { return std::min(first() + line_taps_.count, lines_.limit) - 1; };
  const bool is_pending = next_ >= 0 && next_ < line_taps_.out;
  if (!is_pending) return;
  held_rows_[static_cast<std::size_t>(slot(line))] = row;
  if (turn_.transpose && !is_nearest()) {
    if (comes_backwards_ ? line > last() : line < first()) return;  // nobody asks for it
    const std::int64_t column = line % line_taps_.count;
    const bool backwards = turn_.mirror_y;
    kernels::blend_along(row + (backwards ? (pixels_.limit - 1) * request_.channels : 0),
                         backwards ? -1 : 1, pixels_.limit, pixel_taps_.table(), request_.channels,
                         columns_.data() + column * request_.out.height * request_.channels);
  }
  for (;;) {
    const bool is_done = next_ < 0 || next_ >= line_taps_.out;
    if (is_done) return;
    if (is_nearest()) {
      if (first() != line) return;
      emit_nearest(next_, row);
    } else {
      if (comes_backwards_ ? first() < line : last() > line) return;
      emit(next_);
    }
    next_ += comes_backwards_ ? -1 : 1;
  }
}

void Resizer::emit(std::int64_t i) noexcept {
  const int channels = request_.channels;
  const std::int64_t row = request_.out.width * channels;
  const std::int64_t first = line_taps_.first[static_cast<std::size_t>(i)];
  if (!turn_.transpose) {
    const std::int64_t at = request_.mirror_y ? request_.out.height - 1 - i : i;
    for (std::int64_t t = 0; t < line_taps_.count; ++t)
      sources_[static_cast<std::size_t>(t)] =
          held_rows_[static_cast<std::size_t>(slot(std::min(first + t, lines_.limit - 1)))] +
          left_ * channels;
    kernels::blend_rows(sources_, line_taps_.weights_of(i), used_bytes_, line_.data());
    kernels::blend_columns(line_.data(), pixel_taps_.table(), channels, request_.hwc + at * row);
    return;
  }
  const std::int64_t at = request_.mirror_x ? request_.out.width - 1 - i : i;
  for (std::int64_t t = 0; t < line_taps_.count; ++t)
    column_sources_[static_cast<std::size_t>(t)] =
        columns_.data() +
        std::min(first + t, lines_.limit - 1) % line_taps_.count * request_.out.height * channels;
  const bool flips = request_.mirror_y;
  kernels::blend_across(
      column_sources_, line_taps_.weights_of(i), request_.out.height, channels,
      request_.hwc + at * channels + (flips ? (request_.out.height - 1) * row : 0),
      flips ? -row : row);
}

void Resizer::emit_nearest(std::int64_t i, const std::uint8_t* row) noexcept {
  const int channels = request_.channels;
  const bool transposes = turn_.transpose;
  const bool mirrors_line = transposes ? request_.mirror_x : request_.mirror_y;
  const bool mirrors_pixel = transposes ? request_.mirror_y : request_.mirror_x;
  const bool is_backwards = transposes ? turn_.mirror_y : turn_.mirror_x;
  const std::int64_t line = mirrors_line ? line_taps_.out - 1 - i : i;
  for (std::int64_t k = 0; k < pixel_taps_.out; ++k) {
    const std::int64_t first = pixel_taps_.first[static_cast<std::size_t>(k)];
    const std::uint8_t* from = row + (is_backwards ? pixels_.limit - 1 - first : first) * channels;
    const std::int64_t pixel = mirrors_pixel ? pixel_taps_.out - 1 - k : k;
    const std::int64_t y = transposes ? pixel : line;
    const std::int64_t x = transposes ? line : pixel;
    std::copy_n(from, channels, request_.hwc + (y * request_.out.width + x) * channels);
  }
}

Bytes Resizer::bytes(Size out, int channels, Interpolation how, Size largest, Fit fit) {
  constexpr std::int64_t kPointer = sizeof(void*);
  const std::int64_t side = std::max(largest.height, largest.width);
  const Reduction scale = most_reduction(largest, out, fit);
  // A picture with the longest side either way, on the shorter side of the canvas.
  const double most_scale = std::max({static_cast<double>(side) / static_cast<double>(out.height),
                                      static_cast<double>(side) / static_cast<double>(out.width),
                                      scale.height, scale.width});
  const std::int64_t rows =
      std::min(Taps::most(scale.height, how) + 2, std::max<std::int64_t>(largest.height, 2));
  const std::int64_t columns = Taps::most(scale.width, how) + 2;
  const std::int64_t row = side * channels;
  const std::int64_t upright_rows =
      Room::rounded(rows * row) +
      Room::rounded((largest.width + columns) * channels * 2 + kernels::kLineSlack * 2);
  const std::int64_t transposed =
      Room::rounded(row) + Room::rounded(columns * out.height * channels * 2);
  const std::int64_t pointers = 2 * Room::rounded((Taps::most(most_scale, how) + 2) * kPointer);
  return {Taps::bytes(scale.height, out.height, how) + Taps::bytes(scale.width, out.width, how) +
          std::max(upright_rows, transposed) + pointers};
}

}  // namespace plimsoll
