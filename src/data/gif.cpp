// The first frame of a GIF, on its canvas, by giflib.
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "data/codec.h"

namespace plimsoll {
namespace {

struct Input {
  std::span<const std::byte> bytes;
  std::size_t position = 0;
};

int read_bytes(GifFileType* file, GifByteType* out, int size) {
  auto* input = static_cast<Input*>(file->UserData);
  const std::size_t count =
      std::min(static_cast<std::size_t>(std::max(size, 0)), input->bytes.size() - input->position);
  if (count > 0) std::memcpy(out, input->bytes.data() + input->position, count);
  input->position += count;
  return static_cast<int>(count);
}

struct Close {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};

[[noreturn]] void fail(const EncodedImage& image, const Input& input, int error) {
  const char* text = GifErrorString(error);
  const bool ended = input.position == image.bytes.size();
  fail_image(image, input.position,
             ended ? "the file ends in the middle of the GIF data"
                   : "a GIF that cannot be decoded (" +
                         std::string(text == nullptr ? "damaged data" : text) + ")");
}

void check(const EncodedImage& image, const Input& input, const GifFileType& file, int result) {
  if (result != GIF_OK) fail(image, input, file.Error);
}

// Goes to the first image of the file. Returns the colour of what that image leaves free: the
// transparent one, or the first, as in Pillow.
int find_image(const EncodedImage& image, const Input& input, GifFileType& file) {
  int free_colour = 0;
  for (;;) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    check(image, input, file, DGifGetRecordType(&file, &type));
    if (type == IMAGE_DESC_RECORD_TYPE) return free_colour;
    if (type == TERMINATE_RECORD_TYPE) fail_image(image, input.position, "a GIF without an image");
    int code = 0;
    GifByteType* block = nullptr;
    check(image, input, file, DGifGetExtension(&file, &code, &block));
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] == 4 && (block[1] & 1) != 0)
      free_colour = block[4];
    while (block != nullptr) check(image, input, file, DGifGetExtensionNext(&file, &block));
  }
}

// Calls visit(y) for the rows of an image in the order in which they are stored.
template <class Visit>
void for_rows(std::int64_t height, bool is_interlaced, Visit visit) {
  if (!is_interlaced) {
    for (std::int64_t y = 0; y < height; ++y) visit(y);
    return;
  }
  constexpr std::int64_t kFirst[] = {0, 4, 2, 1};
  constexpr std::int64_t kStep[] = {8, 8, 4, 2};
  for (int pass = 0; pass < 4; ++pass)
    for (std::int64_t y = kFirst[pass]; y < height; y += kStep[pass]) visit(y);
}

void put_colour(const ColorMapObject* map, int index, int channels, std::uint8_t* out) {
  const bool is_known = map != nullptr && index < map->ColorCount;
  const GifColorType colour = is_known ? map->Colors[index] : GifColorType{0, 0, 0};
  put_pixel(out, channels, colour.Red, colour.Green, colour.Blue);
}

}  // namespace

ImageInfo probe_gif(const EncodedImage& image) {
  ImageInfo info{.format = ImageFormat::gif};
  info.stored_width = read_number(image, 6, 2, Endian::little);
  info.stored_height = read_number(image, 8, 2, Endian::little);
  info.bit_depth = static_cast<int>((read_number(image, 10, 1, Endian::little) & 7) + 1);
  return info;
}

Bytes gif_bytes(const ImageInfo& /*info*/, const StoredRequest& /*request*/) {
  // giflib's tables and palettes; one row of any frame.
  return 128_KiB;
}

Coverage decode_gif(const EncodedImage& image, const ImageInfo& info, const StoredRequest& request,
                    CodecScratch& scratch, Picture& picture) {
  Input input{image.bytes};
  int error = 0;
  const std::unique_ptr<GifFileType, Close> file(DGifOpen(&input, read_bytes, &error));
  if (!file) fail(image, input, error);
  const int free_colour = find_image(image, input, *file);
  check(image, input, *file, DGifGetImageDesc(file.get()));

  const Rect& crop = request.crop;
  const int channels = request.channels;
  picture.reshape(crop.height, crop.width, channels);
  const GifImageDesc& frame = file->Image;
  const ColorMapObject* map = frame.ColorMap != nullptr ? frame.ColorMap : file->SColorMap;
  const bool covers_all = frame.Left <= 0 && frame.Top <= 0 &&
                          frame.Left + frame.Width >= info.stored_width &&
                          frame.Top + frame.Height >= info.stored_height;
  if (!covers_all)
    for (std::int64_t i = 0; i < crop.width * crop.height; ++i)
      put_colour(map, free_colour, channels, picture.pixels.data() + i * channels);

  if (frame.Width <= 0 || frame.Height <= 0)
    fail_image(image, input.position, "a GIF frame without pixels");
  size_buffer(scratch.row, static_cast<std::size_t>(frame.Width));
  for_rows(frame.Height, frame.Interlace, [&](std::int64_t line) {
    check(image, input, *file, DGifGetLine(file.get(), scratch.row.data(), frame.Width));
    const std::int64_t y = frame.Top + line - crop.y;
    if (y < 0 || y >= crop.height) return;
    const std::int64_t first = std::max<std::int64_t>(frame.Left, crop.x);
    const std::int64_t last = std::min<std::int64_t>(frame.Left + frame.Width, crop.x + crop.width);
    std::uint8_t* out = picture.row(y) + (first - crop.x) * channels;
    for (std::int64_t x = first; x < last; ++x, out += channels)
      put_colour(map, scratch.row[static_cast<std::size_t>(x - frame.Left)], channels, out);
  });
  return {crop.x, crop.y, 1};
}

}  // namespace plimsoll
