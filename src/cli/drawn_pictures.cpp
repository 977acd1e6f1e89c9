#include "cli/drawn_pictures.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "data/picture/orientation.h"
#include "draw/box_picture.h"
#include "draw/png.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kChannels = 3;

// Rows of a stored picture to where they belong in the upright one.
class UprightRows final : public RowSink {
 public:
  UprightRows(std::span<std::uint8_t> upright, int orientation)
      : upright_(upright), orientation_(orientation) {}

  void begin(const StoredPart& part, Room& room) override {
    stored_ = part.size;
    row_ = room.take_array<std::uint8_t>(static_cast<std::size_t>(part.size.width * kChannels));
  }
  std::uint8_t* row(std::int64_t /*y*/) noexcept override { return row_.data(); }
  void put(std::int64_t y) noexcept override {
    const std::int64_t width = upright(stored_, orientation_).width;
    const auto place = [&](std::int64_t x) {
      const Rect pixel = upright(Rect{x, y, 1, 1}, orientation_, stored_);
      return (pixel.y * width + pixel.x) * kChannels;
    };
    std::uint8_t* to = upright_.data() + place(0);
    const std::int64_t step = stored_.width > 1 ? place(1) - place(0) : 0;
    for (std::int64_t x = 0; x < stored_.width; ++x)
      std::copy_n(row_.data() + x * kChannels, kChannels, to + x * step);
  }

 private:
  std::span<std::uint8_t> upright_;
  int orientation_;
  Size stored_;
  std::span<std::uint8_t> row_;
};

std::int64_t pixel_bytes(std::int64_t pixels) { return Room::rounded(pixels * kChannels); }

// All but the room that a picture is decoded and drawn in.
Bytes beside_room(const Source& source, const ScanReport& report) {
  const std::int64_t longest = std::max(report.largest.size.width, report.largest.size.height);
  return source.index().largest_encoded + draw::stream_png_bytes(longest, kChannels);
}

}  // namespace

Bytes DrawnPictures::needed(const Source& source, const ScanReport& report) {
  std::int64_t pixels = 0;
  for (const auto& [sample, size] : report.biggest)
    pixels = std::max(pixels, size.width * size.height);
  return beside_room(source, report) + report.largest.decode + Bytes{pixel_bytes(pixels)} +
         Bytes{pixel_bytes(std::max(report.largest.size.width, report.largest.size.height))};
}

DrawnPictures::DrawnPictures(fs::path folder, const Source& source, const ScanReport& report,
                             Bytes memory)
    : folder_(std::move(folder)),
      source_(source),
      room_(std::max(memory - beside_room(source, report), Bytes{4096})),
      decoder_(room_) {
  encoded_.reserve(static_cast<std::size_t>(source.index().largest_encoded.count));
  make_directories(folder_);
}

fs::path DrawnPictures::target_for(std::int64_t i, const fs::path& relative) {
  fs::path target = relative;
  target.replace_extension(".png");
  for (int n = 2; !taken_.insert(target).second; ++n) {
    target = relative;
    target.replace_filename(relative.stem().string() + "-" + std::to_string(n) + ".png");
  }
  target = folder_ / target;
  make_directories(target.parent_path());
  const fs::path original = source_.path(i);
  std::error_code error;
  if (fs::equivalent(target.parent_path(),
                     original.has_parent_path() ? original.parent_path() : ".", error))
    throw UsageError({.where = "--pictures",
                      .got = "'" + folder_.string() + "', where " + original.string() + " is",
                      .expected = "expected another folder than that of the originals"});
  return target;
}

void DrawnPictures::draw(std::int64_t i, const fs::path& relative,
                         const std::vector<Prediction>& found) {
  const std::string where = source_.where(i);
  const Encoded encoded = source_.read(i, encoded_);
  const ImageInfo info = probe_image(encoded.bytes, where);
  const DecodeRequest request{.channels = kChannels};
  const Bytes need = decode_bytes(info, request) + Bytes{pixel_bytes(info.pixels())} +
                     Bytes{pixel_bytes(info.stored_width)};
  if (need > room_.size())
    throw DataError({.where = where,
                     .got = kind_text(info) + ": " + to_string(need) + " to draw on it, " +
                            to_string(room_.size()) + " left",
                     .expected = "expected a picture that fits --memory",
                     .hint = "what was found is told all the same"});
  const fs::path target = target_for(i, relative);
  const std::size_t before = room_.used();
  struct Rewind {
    Room& room;
    std::size_t used;
    ~Rewind() { room.rewind(used); }
  } const rewind{room_, before};
  const auto pixels =
      room_.take_array<std::uint8_t>(static_cast<std::size_t>(info.pixels() * kChannels));
  UprightRows rows(pixels, info.orientation);
  decoder_.decode(encoded.bytes, where, info, request, rows);
  std::vector<draw::DrawnBox> boxes;
  for (const Prediction& one : found)
    boxes.push_back({.x0 = one.box->x0,
                     .y0 = one.box->y0,
                     .x1 = one.box->x1,
                     .y1 = one.box->y1,
                     .name = one.name,
                     .score = one.score,
                     .label = one.label});
  draw::draw_boxes({.pixels = pixels.data(),
                    .width = info.width,
                    .height = info.height,
                    .row_bytes = info.width * kChannels},
                   boxes, draw::box_style(info.width, info.height));
  AtomicFile file(target);
  draw::stream_png(info.width, info.height, kChannels, pixels,
                   [&](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace plimsoll::cli
