#include "data/codec/decode.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "data/picture/orientation.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_images.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

using tests::as_bytes;
using tests::golden_file;
using tests::golden_images;
using tests::golden_picture;
using tests::greatest_difference;

Picture decode(std::span<const std::byte> bytes, const DecodeRequest& request = {}) {
  Picture picture;
  Decoder().decode(bytes, "test", request, picture);
  return picture;
}

// The part of a picture that a rectangle of the image shows, where the picture covers that much.
Picture part_of_picture(const Picture& picture, const Coverage& coverage, const Rect& rect) {
  Picture part;
  part.reshape(rect.height, rect.width, picture.channels);
  for (std::int64_t y = 0; y < rect.height; ++y)
    std::copy_n(picture.row(rect.y - coverage.y + y) + (rect.x - coverage.x) * picture.channels,
                part.row_bytes(), part.row(y));
  return part;
}

TEST(Decode, EveryFormatEqualsPillow) {
  Decoder decoder;
  Picture picture;
  for (const nlohmann::json& file : golden_images()["files"]) {
    const std::string name = file["name"];
    SCOPED_TRACE(name);
    const std::vector<std::byte> bytes = golden_file(name);
    const Picture expected = golden_picture(file);
    const ImageInfo info = probe_image(bytes, name);
    EXPECT_EQ(info.size(), expected.size());
    EXPECT_EQ(decoder.decode(bytes, name, {}, picture), Coverage{});
    EXPECT_EQ(picture.size(), expected.size());
    // CMYK is turned into RGB with another rounding, and 5-bit fields are.
    const bool is_inexact = name == "cmyk.jpg" || name == "rgb555.bmp" || name == "rgb565.bmp";
    EXPECT_LE(greatest_difference(picture.pixels, expected.pixels), is_inexact ? 1 : 0);
  }
}

TEST(Decode, EveryCropEqualsThatPartOfTheWhole) {
  Decoder decoder;
  Picture whole;
  Picture picture;
  for (const nlohmann::json& file : golden_images()["files"]) {
    const std::string name = file["name"];
    const std::vector<std::byte> bytes = golden_file(name);
    const ImageInfo info = probe_image(bytes, name);
    for (const int channels : {1, 3}) {
      decoder.decode(bytes, name, {.channels = channels}, whole);
      for (std::int64_t x = 0; x < info.width; x += 3)
        for (std::int64_t y = 0; y < info.height; y += 2) {
          const Rect crop{x, y, std::min<std::int64_t>(1 + (x * 7 + y) % 20, info.width - x),
                          std::min<std::int64_t>(1 + (y * 5 + x) % 16, info.height - y)};
          const Coverage coverage =
              decoder.decode(bytes, name, {.channels = channels, .crop = crop}, picture);
          ASSERT_EQ(coverage.scale, 1);
          ASSERT_EQ(part_of_picture(picture, coverage, crop).pixels,
                    part_of_picture(whole, {}, crop).pixels)
              << name << " at " << x << ", " << y << ", channels " << channels;
        }
    }
  }
}

TEST(Decode, CropsOfAPhotographEqualThatPartOfTheWhole) {
  const auto folder = tests::find_shared_data("flowers5");
  if (!folder) GTEST_SKIP() << "the shared test data is not there (flowers5)";
  Decoder decoder;
  Picture whole;
  Picture picture;
  int photographs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (entry.path().extension() != ".jpg" || ++photographs % 25 != 0) continue;
    const std::string bytes = read_file(entry.path(), 64_MiB);
    const std::string name = entry.path().filename().string();
    decoder.decode(as_bytes(bytes), name, {}, whole);
    for (const double part : {0.13, 0.34, 0.5}) {
      const auto share = [part](std::int64_t size) {
        return static_cast<std::int64_t>(part * static_cast<double>(size));
      };
      const Rect crop{share(whole.width), share(whole.height), whole.width / 2, whole.height / 2};
      const Coverage coverage = decoder.decode(as_bytes(bytes), name, {.crop = crop}, picture);
      EXPECT_EQ(part_of_picture(picture, coverage, crop).pixels,
                part_of_picture(whole, {}, crop).pixels)
          << name;
    }
  }
  EXPECT_GT(photographs, 0);
}

TEST(Decode, GreyIsLuma) {
  const Picture colour = decode(golden_file("rgb.png"));
  const Picture grey = decode(golden_file("rgb.png"), {.channels = 1});
  ASSERT_EQ(grey.channels, 1);
  ASSERT_EQ(grey.size(), colour.size());
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    const std::uint8_t* p = colour.pixels.data() + 3 * i;
    EXPECT_NEAR(grey.pixels[i], 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], 0.51);
  }
}

TEST(Decode, JpegIsReducedOnlyWhenAskedAndOnlyAsFarAsTheCropAllows) {
  Decoder decoder;
  Picture picture;
  const std::vector<std::byte> bytes = golden_file("rgb444.jpg");  // 29x21
  const auto scale = [&](std::optional<Size> at_least, std::optional<Rect> crop = {}) {
    return decoder.decode(bytes, "x", {.crop = crop, .at_least = at_least}, picture).scale;
  };
  EXPECT_EQ(scale({}), 1);
  EXPECT_EQ(scale(Size{11, 5}), 1);
  EXPECT_EQ(scale(Size{10, 14}), 2);
  EXPECT_EQ(picture.size(), (Size{11, 15}));
  EXPECT_EQ(scale(Size{5, 7}), 4);
  EXPECT_EQ(scale(Size{1, 1}), 8);
  EXPECT_EQ(picture.size(), (Size{3, 4}));
  EXPECT_EQ(scale(Size{5, 7}, Rect{0, 0, 14, 10}), 2);
}

TEST(Decode, ReducedPixelsAreTheMeansOfTheSquaresTheyCover) {
  Decoder decoder;
  Picture whole;
  Picture picture;
  for (const char* name : {"rgb444.jpg", "turned3.jpg", "turned6.jpg", "turned7.jpg"}) {
    const std::vector<std::byte> bytes = golden_file(name);
    decoder.decode(bytes, name, {}, whole);
    const Coverage coverage =
        decoder.decode(bytes, name, {.at_least = Size{whole.height / 2, whole.width / 2}}, picture);
    ASSERT_EQ(coverage.scale, 2);
    double error = 0;
    int count = 0;
    for (std::int64_t y = 0; y < picture.height; ++y)
      for (std::int64_t x = 0; x < picture.width; ++x) {
        const std::int64_t left = coverage.x + 2 * x;
        const std::int64_t top = coverage.y + 2 * y;
        if (left < 0 || top < 0 || left + 1 >= whole.width || top + 1 >= whole.height) continue;
        const int sum = whole.row(top)[3 * left + 1] + whole.row(top)[3 * left + 4] +
                        whole.row(top + 1)[3 * left + 1] + whole.row(top + 1)[3 * left + 4];
        error += std::abs(picture.row(y)[3 * x + 1] - sum / 4.0);
        ++count;
      }
    EXPECT_LT(error / count, 3) << name;
  }
}

TEST(Decode, AllEightOrientationsOfAPhotographGiveTheSamePicture) {
  const auto folder = tests::find_shared_data("odd-images/exif");
  if (!folder) GTEST_SKIP() << "the shared test data is not there (odd-images/exif)";
  Picture first;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = "Landscape_" + std::to_string(orientation) + ".jpg";
    const std::string bytes = read_file(*folder / name, 4_MiB);
    EXPECT_EQ(probe_image(as_bytes(bytes), name).orientation, orientation);
    const Picture picture = decode(as_bytes(bytes));
    EXPECT_EQ(picture.size(), (Size{1200, 1800}));
    if (orientation == 1) first = picture;
    // Each was coded on its own, so they differ as JPEGs of one scene do; a wrong turn is off
    // by 60.
    double sum = 0;
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      sum += std::abs(picture.pixels[i] - first.pixels[i]);
    EXPECT_LT(sum / static_cast<double>(picture.pixels.size()), 5) << name;
  }
}

TEST(Decode, ReadsOrRefusesEveryOddImage) {
  const auto folder = tests::find_shared_data("odd-images");
  if (!folder) GTEST_SKIP() << "the shared test data is not there (odd-images)";
  const auto load = [&](const std::string& name) { return read_file(*folder / name, 4_MiB); };
  for (const char* name :
       {"jpeg/16bit-qtables.jpg", "jpeg/jpg-cmyk-1.jpg", "jpeg/jpg-cmyk-2.jpg", "jpeg/jpg-gray.jpg",
        "jpeg/jpg-progressive.jpg", "jpeg/jpg-size-1x1.jpg", "png/basi2c08.png", "png/basn0g16.png",
        "png/basn2c16.png", "png/basn3p08.png", "png/basn4a08.png", "png/basn6a16.png",
        "png/tbbn3p08.png"}) {
    const std::string bytes = load(name);
    const Picture picture = decode(as_bytes(bytes));
    EXPECT_EQ(picture.size(), probe_image(as_bytes(bytes), name).size()) << name;
  }
  const std::string lossless = load("jpeg/lossless.jpg");
  EXPECT_COMPLAINT(decode(as_bytes(lossless)), DataError, "a lossless JPEG");
  for (const auto& entry : std::filesystem::directory_iterator(*folder / "damaged")) {
    SCOPED_TRACE(entry.path());
    const std::string bytes = read_file(entry.path(), 4_MiB);
    EXPECT_THROW(decode(as_bytes(bytes), {.thorough = true}), DataError);
  }
}

TEST(Decode, TheContentDecidesNotTheExtension) {
  EXPECT_EQ(sniff_format(golden_file("rgb420.jpg")), ImageFormat::jpeg);
  EXPECT_EQ(sniff_format(golden_file("rgb.png")), ImageFormat::png);
  EXPECT_EQ(sniff_format(golden_file("lossy.webp")), ImageFormat::webp);
  EXPECT_EQ(sniff_format(golden_file("rgb24.bmp")), ImageFormat::bmp);
  EXPECT_EQ(sniff_format(golden_file("palette.gif")), ImageFormat::gif);
  EXPECT_EQ(sniff_format(as_bytes("<svg>")), std::nullopt);
  EXPECT_COMPLAINT(decode({}), DataError, "test: an empty file");
  EXPECT_COMPLAINT(decode(as_bytes("<svg>")), DataError, "it begins with 3c 73 76 67");
}

TEST(Decode, RefusesEveryTruncation) {
  for (const nlohmann::json& file : golden_images()["files"]) {
    const std::string name = file["name"];
    const std::vector<std::byte> bytes = golden_file(name);
    // GIF ends with one byte that says so, BMP may end with padding: no pixel depends on them.
    const std::size_t needed =
        name.ends_with(".gif") ? bytes.size() - 2 : bytes.size() - (name.ends_with(".bmp") ? 4 : 0);
    for (std::size_t size = 0; size < needed; size += 1 + size / 50) {
      SCOPED_TRACE(name + " cut to " + std::to_string(size));
      EXPECT_THROW(decode(std::span(bytes).first(size)), DataError);
    }
  }
}

TEST(Decode, NamesTheByteAtWhichAJpegEnds) {
  const std::vector<std::byte> bytes = golden_file("rgb420.jpg");
  const std::size_t half = bytes.size() - 60;
  EXPECT_COMPLAINT(decode(std::span(bytes).first(half)), DataError,
                   "test: byte " + std::to_string(half) + ": the file ends in the middle of");
}

TEST(Decode, AThoroughDecodeGivesTheSamePixels) {
  for (const nlohmann::json& file : golden_images()["files"]) {
    const std::vector<std::byte> bytes = golden_file(file["name"]);
    EXPECT_EQ(decode(bytes, {.thorough = true}).pixels, decode(bytes).pixels) << file["name"];
  }
}

TEST(Decode, NoticesDamageInsideTheData) {
  // A marker in the middle of a scan, where none may stand.
  std::vector<std::byte> jpeg = golden_file("rgb444.jpg");
  jpeg[jpeg.size() - 200] = std::byte{0xFF};
  jpeg[jpeg.size() - 199] = std::byte{0xC8};
  EXPECT_COMPLAINT(decode(jpeg), DataError, "a JPEG that cannot be decoded");
  std::vector<std::byte> png = golden_file("rgb.png");
  png[png.size() / 2] ^= std::byte{1};
  EXPECT_COMPLAINT(decode(png), DataError, "a PNG that cannot be decoded");
}

// A PNG of one colour: its size says much, its bytes are few.
std::string png_of_size(std::uint32_t width, std::uint32_t height) {
  const std::vector<std::byte> small = golden_file("rgb.png");
  std::string bytes(reinterpret_cast<const char*>(small.data()), small.size());
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[16 + i] = static_cast<char>(width >> (24 - 8 * i));
    bytes[20 + i] = static_cast<char>(height >> (24 - 8 * i));
  }
  return bytes;
}

TEST(Decode, RefusesAHugeImageBeforeAByteIsAllocated) {
  const std::string bytes = png_of_size(60'000, 60'000);
  Decoder decoder;
  Picture picture;
  const std::int64_t peak = peak_of_allocations([&] {
    EXPECT_COMPLAINT(decoder.decode(as_bytes(bytes), "bomb.png", {}, picture), DataError,
                     "an image of 60000x60000 pixels; expected at most 100000000 in all");
  });
  EXPECT_LT(peak, 16 << 10) << "a message, and nothing for pixels";
  EXPECT_EQ(picture.pixels.capacity(), 0U);
  EXPECT_COMPLAINT(decode(golden_file("rgb420.jpg"), {.max_pixels = 500}), DataError, "29x21");
  const std::string wide = png_of_size(0x7FFFFFFF, 0x7FFFFFFF);
  EXPECT_COMPLAINT(decode(as_bytes(wide)), DataError, "pixels");
}

TEST(Decode, RefusesByNameWhatItDoesNotRead) {
  std::vector<std::byte> jpeg = golden_file("rgb420.jpg");
  const auto frame = std::ranges::search(jpeg, std::array{std::byte{0xFF}, std::byte{0xC0}});
  ASSERT_FALSE(frame.empty());
  frame[4] = std::byte{12};
  EXPECT_COMPLAINT(decode(jpeg), DataError, "a JPEG of 12 bits per sample");
  frame[4] = std::byte{8};
  frame[1] = std::byte{0xC3};
  EXPECT_COMPLAINT(decode(jpeg), DataError, "a lossless JPEG");
  std::vector<std::byte> bmp = golden_file("palette8.bmp");
  bmp[30] = std::byte{1};
  EXPECT_COMPLAINT(decode(bmp), DataError, "compression 1 (RLE8)");
  EXPECT_COMPLAINT(decode(as_bytes(std::string("II*\0", 4))), DataError, "test: a TIFF");
  EXPECT_COMPLAINT(decode(as_bytes("P6\n1 1\n255\nabc")), DataError, "a PPM, PGM or PBM");
  EXPECT_COMPLAINT(decode(as_bytes(std::string("\0\0\0\x18"
                                               "ftypheic",
                                               12))),
                   DataError, "HEIC");
}

TEST(Decode, RefusesABmpWhosePixelsBeginInItsHeaderOrPalette) {
  std::vector<std::byte> grey = golden_file("palette8.bmp");
  const auto pixels_at = [&](std::vector<std::byte>& bmp, unsigned at) {
    for (std::size_t i = 0; i < 4; ++i) bmp[10 + i] = static_cast<std::byte>(at >> 8 * i);
  };
  for (const unsigned at : {0U, 14U, 53U}) {
    pixels_at(grey, at);
    EXPECT_COMPLAINT(decode(grey), DataError,
                     "test: byte 10: pixels that begin at byte " + std::to_string(at));
  }
  // With as many colours declared as there are, none of them is a pixel.
  std::vector<std::byte> declared = golden_file("palette8.bmp");
  const unsigned begin =
      std::to_integer<unsigned>(declared[10]) | std::to_integer<unsigned>(declared[11]) << 8;
  const unsigned colours = (begin - 54) / 4;
  declared[46] = static_cast<std::byte>(colours);
  declared[47] = static_cast<std::byte>(colours >> 8);
  EXPECT_NO_THROW(decode(declared));
  pixels_at(declared, begin - 4);
  EXPECT_COMPLAINT(decode(declared), DataError, "expected byte " + std::to_string(begin));
  std::vector<std::byte> rgb = golden_file("rgb24.bmp");
  pixels_at(rgb, 40);
  EXPECT_COMPLAINT(decode(rgb), DataError, "pixels that begin at byte 40");
}

TEST(Decode, NamesWhatIsOddAndChangesNoPixel) {
  std::vector<std::byte> jpeg = golden_file("rgb420.jpg");
  Decoder decoder;
  Picture plain;
  decoder.decode(jpeg, "test", {}, plain);
  EXPECT_EQ(decoder.oddity(), "");
  // Se = 0 in the only scan.
  const auto scan = std::ranges::search(jpeg, std::array{std::byte{0xFF}, std::byte{0xDA}});
  ASSERT_FALSE(scan.empty());
  ASSERT_EQ(scan[0], std::byte{0xFF});
  std::to_address(scan.begin())[12] = std::byte{0};
  Picture odd;
  decoder.decode(jpeg, "test", {.thorough = true}, odd);
  EXPECT_EQ(decoder.oddity(), "invalid SOS parameters for sequential JPEG");
  EXPECT_EQ(odd.pixels, plain.pixels);
  decoder.decode(golden_file("rgb.png"), "test", {}, plain);
  EXPECT_EQ(decoder.oddity(), "");
}

TEST(Decode, RefusesACropOutsideTheImage) {
  for (const Rect crop : {Rect{0, 0, 30, 1}, Rect{-1, 0, 1, 1}, Rect{29, 0, 1, 1}, Rect{}})
    EXPECT_COMPLAINT(decode(golden_file("rgb.png"), {.crop = crop}), UsageError, "inside 29x21");
}

TEST(Decode, LeavesNoTracesOfOneImageInTheNext) {
  Decoder decoder;
  Picture picture;
  const std::vector<std::byte> good = golden_file("rgb420.jpg");
  decoder.decode(good, "x", {}, picture);
  const Picture before = picture;
  EXPECT_THROW(decoder.decode(std::span(good).first(400), "x", {}, picture), DataError);
  for (const char* name : {"cmyk.jpg", "interlaced.png", "turned6.jpg"})
    decoder.decode(golden_file(name), name, {}, picture);
  decoder.decode(good, "x", {}, picture);
  EXPECT_EQ(picture.pixels, before.pixels);
}

// The golden files and, where they are there, photographs of some megapixels.
std::vector<std::pair<std::string, std::string>> files_of_every_kind() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const nlohmann::json& file : golden_images()["files"]) {
    const std::vector<std::byte> bytes = golden_file(file["name"]);
    files.emplace_back(file["name"],
                       std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  if (const auto folder = tests::find_shared_data("odd-images/exif"))
    for (const char* name : {"Landscape_1.jpg", "Landscape_6.jpg"})
      files.emplace_back(name, read_file(*folder / name, 4_MiB));
  if (const auto folder = tests::find_shared_data("wild")) {
    int number = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder))
      if (entry.is_regular_file() && ++number % 10 == 0)
        files.emplace_back(entry.path().filename(), read_file(entry.path(), 64_MiB));
  }
  return files;
}

TEST(Decode, NeedsTheRoomThatItStatesAndNoMuchSmallerOne) {
  Picture picture;
  for (const auto& [name, bytes] : files_of_every_kind())
    for (const DecodeRequest& request :
         {DecodeRequest{}, DecodeRequest{.channels = 1}, DecodeRequest{.at_least = Size{4, 4}},
          DecodeRequest{.crop = Rect{0, 0, 1, 1}}}) {
      const ImageInfo info = probe_image(as_bytes(bytes), name);
      const Bytes stated = decode_bytes(info, request);
      Room room(stated);
      Decoder(room).decode(as_bytes(bytes), name, info, request, picture);
      EXPECT_LE(room.most(), stated) << name;
      EXPECT_EQ(room.used(), 0U) << name;
      const bool is_whole = !request.crop && !request.at_least;
      if (is_whole && info.format == ImageFormat::jpeg) {
        EXPECT_GE(room.most() + 96_KiB, stated / 2) << name;
      }
    }
}

TEST(Decode, AllocatesNothing) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers own malloc";
  const auto files = files_of_every_kind();
  Bytes most;
  for (const auto& [name, bytes] : files)
    most = std::max(most, decode_bytes(probe_image(as_bytes(bytes), name), {}));
  Room room(most);
  Decoder decoder(room);
  class Sink final : public RowSink {
   public:
    void begin(const StoredPart& part, Room& from) override {
      row_ =
          from.take_array<std::uint8_t>(static_cast<std::size_t>(part.size.width * part.channels));
    }
    std::uint8_t* row(std::int64_t) noexcept override { return row_.data(); }
    void put(std::int64_t) noexcept override {}

   private:
    std::span<std::uint8_t> row_;
  } sink;
  for (const auto& [name, bytes] : files) {
    const std::int64_t before = allocations_so_far();
    decoder.decode(as_bytes(bytes), name, probe_image(as_bytes(bytes), name), {}, sink);
    EXPECT_EQ(allocations_so_far(), before) << name;
  }
}

TEST(Decode, NamesAPictureThatDoesNotFitItsRoomAndWhatItNeeds) {
  const std::vector<std::byte> bytes = golden_file("progressive.jpg");
  Room room(8_KiB);
  Decoder decoder(room);
  Picture picture;
  EXPECT_COMPLAINT(decoder.decode(bytes, "big.jpg", {}, picture), DataError,
                   "big.jpg: progressive JPEG, 0.0 MP: ");
  EXPECT_COMPLAINT(decoder.decode(bytes, "big.jpg", {}, picture), DataError,
                   "KiB to decode, 8 KiB left");
  const std::string huge = png_of_size(9'900, 9'900);
  EXPECT_COMPLAINT(decoder.decode(as_bytes(huge), "huge.png", {}, picture), DataError,
                   "PNG, 98 MP: ");
}

}  // namespace
}  // namespace plimsoll
