#include "data/scan/scanner.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/text.h"

namespace plimsoll {
namespace {

constexpr std::size_t kBiggest = 5;

std::string size_class(std::int64_t pixels) {
  const double megapixels = static_cast<double>(pixels) / 1e6;
  if (megapixels <= 0.05) return "1: up to 0.05 MP";
  if (megapixels <= 0.25) return "2: up to 0.25 MP";
  if (megapixels <= 1) return "3: up to 1 MP";
  if (megapixels <= 4) return "4: up to 4 MP";
  if (megapixels <= 16) return "5: up to 16 MP";
  return "6: above 16 MP";
}

// Whether a name's extension is one that promises another format.
bool is_misnamed(const std::string& path, ImageFormat format) {
  static const std::map<std::string, ImageFormat> kPromised = {
      {".jpg", ImageFormat::jpeg},  {".jpeg", ImageFormat::jpeg}, {".jpe", ImageFormat::jpeg},
      {".jfif", ImageFormat::jpeg}, {".png", ImageFormat::png},   {".webp", ImageFormat::webp},
      {".bmp", ImageFormat::bmp},   {".gif", ImageFormat::gif}};
  const auto found = kPromised.find(to_lower(std::filesystem::path(path).extension().string()));
  return found != kPromised.end() && found->second != format;
}

}  // namespace

void Allowance::take(Bytes bytes) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  given_back_.wait(lock, [&] { return bytes <= all_ - taken_; });
  --waiting_;
  taken_ += bytes;
}

void Allowance::give_back(Bytes bytes) {
  {
    const std::scoped_lock lock(mutex_);
    taken_ -= bytes;
  }
  given_back_.notify_all();
}

bool Allowance::is_wanted() const {
  const std::scoped_lock lock(mutex_);
  return waiting_ > 0;
}

void keep_biggest(std::vector<std::pair<std::int64_t, Size>>& list) {
  std::ranges::sort(list, [](const auto& a, const auto& b) {
    const std::int64_t pixels_a = a.second.height * a.second.width;
    const std::int64_t pixels_b = b.second.height * b.second.width;
    return pixels_a != pixels_b ? pixels_a > pixels_b : a.first < b.first;
  });
  if (list.size() > kBiggest) list.resize(kBiggest);
}

Scanner::Scanner(const Source& source, const ScanOptions& options, Allowance& allowance,
                 std::vector<std::uint64_t>& contents)
    : source_(source),
      options_(options),
      allowance_(allowance),
      contents_(contents),
      decoder_(room_) {
  // Once and for all files: a vector that grows holds its old and its new memory at a time.
  buffer_.reserve(static_cast<std::size_t>(source.index().largest_encoded.count));
}

Scanner::~Scanner() { leave_room(); }

void Scanner::look_at(std::int64_t i) {
  ++report_.samples;
  if (allowance_.is_wanted()) leave_room();
  try {
    const Encoded encoded = source_.read(i, buffer_);
    if (encoded.raw)
      look_at_raw(*encoded.raw);
    else
      look_at_file(encoded, i);
    look_at_boxes(i);
    contents_[static_cast<std::size_t>(i)] =
        std::max<std::uint64_t>(1, XXH3_64bits(encoded.bytes.data(), encoded.bytes.size()));
  } catch (const DataError& error) {
    report_.bad.push_back({.sample = i, .complaint = error.complaint()});
  }
  trim();
}

void Scanner::look_at_raw(const Encoded::Pixels& raw) {
  ++report_.formats["uncompressed"];
  report_.coloured += raw.channels > 1;
  const Size size{.height = raw.height, .width = raw.width};
  note_size(-1, size);
}

void Scanner::look_at_file(const Encoded& encoded, std::int64_t i) {
  const std::string where = source_.where(i);
  const ImageInfo info = probe_image(encoded.bytes, where);
  // A doctor looks closely: codes that the fast path would take for zeros are damage.
  const DecodeRequest request{.channels = options_.channels, .thorough = true};
  if (options_.pixels && !decode(encoded, where, info, request)) {
    report_.bad.push_back(
        {.sample = i,
         .complaint = {.where = where,
                       .got = kind_text(info) + ": " + to_string(decode_bytes(info, request)) +
                              " to decode, " + to_string(allowance_.all()) + " left",
                       .expected = "expected a picture that can be decoded in the memory there is",
                       .hint = "make it smaller once, or give more --memory"},
         .does_not_fit = true});
    return;
  }
  ++report_.formats[std::string(to_string(info.format))];
  if (is_misnamed(source_.path(i), info.format)) report_.wrong_extension.add(i);
  if (info.orientation != 1) report_.turned.add(i);
  if (info.channels == 1) report_.grey.add(i);
  if (info.channels == 4) report_.cmyk.add(i);
  if (info.has_alpha) report_.alpha.add(i);
  report_.coloured += info.channels > 1;
  if (options_.pixels && !decoder_.oddity().empty())
    report_.oddities[std::string(decoder_.oddity())].add(i);
  report_.largest.decode = std::max(report_.largest.decode, decode_bytes(info, request));
  note_size(i, info.size());
  const Size stored{.height = info.stored_height, .width = info.stored_width};
  const Size said = source_.annotated_size(i);
  if (said.height > 0 && said.width > 0 && said != info.size() && said != stored)
    report_.other_size.add(i);
}

namespace {

// Passes over the pixels: that they can be decoded is all that is asked.
class NoPixels final : public RowSink {
 public:
  void begin(const StoredPart& part, Room& room) override {
    row_ = room.take_array<std::uint8_t>(static_cast<std::size_t>(part.size.width * part.channels));
  }
  std::uint8_t* row(std::int64_t /*y*/) noexcept override { return row_.data(); }
  void put(std::int64_t /*y*/) noexcept override {}

 private:
  std::span<std::uint8_t> row_;
};

}  // namespace

bool Scanner::decode(const Encoded& encoded, const std::string& where, const ImageInfo& info,
                     const DecodeRequest& request) {
  // Larger ones are refused by their header, and need nothing.
  const Bytes need = info.pixels() > request.max_pixels ? Bytes{0} : decode_bytes(info, request);
  if (need > allowance_.all()) return false;
  if (need > room_.size()) {
    leave_room();
    // Most pictures need less than this: with one size for them, the room is kept.
    constexpr Bytes kUsual = 2_MiB;
    const Bytes size = std::max(need, std::min(kUsual, allowance_.all() / 8));
    allowance_.take(size);
    try {
      room_ = Room(size);
    } catch (...) {
      allowance_.give_back(size);
      throw;
    }
    room_taken_ = size;
  }
  NoPixels sink;
  decoder_.decode(encoded.bytes, where, info, request, sink);
  return true;
}

void Scanner::leave_room() {
  room_ = Room();
  if (room_taken_ > Bytes{0}) allowance_.give_back(room_taken_);
  room_taken_ = Bytes{0};
}

void Scanner::note_size(std::int64_t i, Size size) {
  ++report_.sizes[size_class(size.height * size.width)];
  report_.largest.size = {std::max(report_.largest.size.height, size.height),
                          std::max(report_.largest.size.width, size.width)};
  report_.smallest = seen_ == 0 ? size
                                : Size{std::min(report_.smallest.height, size.height),
                                       std::min(report_.smallest.width, size.width)};
  ++seen_;
  report_.mean.height += size.height;
  report_.mean.width += size.width;
  if (i >= 0) report_.biggest.emplace_back(i, size);
}

void Scanner::look_at_boxes(std::int64_t i) {
  constexpr float kRounding = 0.5F;  // of a pixel: no mistake
  const Size frame = source_.annotated_size(i);
  const float right = static_cast<float>(frame.width) + kRounding;
  const float bottom = static_cast<float>(frame.height) + kRounding;
  for (const Box& box : source_.boxes(i)) {
    if (box.x1 < box.x0 || box.y1 < box.y0)
      report_.inverted.add(i);
    else if (!(box.x1 > box.x0 && box.y1 > box.y0))
      report_.empty.add(i);
    else if (box.x0 < -kRounding || box.y0 < -kRounding || box.x1 > right || box.y1 > bottom)
      report_.outside.add(i);
  }
}

void Scanner::trim() {
  if (report_.biggest.size() > 64) keep_biggest(report_.biggest);
  if (++since_trim_ < 1024) return;
  since_trim_ = 0;
  for (Finding ScanReport::*finding : kFindings) (report_.*finding).settle();
  for (auto& [words, finding] : report_.oddities) finding.settle();
}

}  // namespace plimsoll
