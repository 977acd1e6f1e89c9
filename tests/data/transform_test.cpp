#include "data/picture/transform.h"
#include "data/codec/decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "data/codec/decode.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_images.h"

namespace plimsoll {
namespace {

using tests::from_base64;
using tests::golden_images;
using tests::golden_picture;
using tests::greatest_difference;

std::vector<std::uint8_t> transform(const Picture& picture, Size out, Interpolation how,
                                    const Draw& draw = {}, std::optional<Rect> crop = {},
                                    const Coverage& coverage = {}) {
  const int channels = static_cast<int>(picture.channels);
  std::vector<std::uint8_t> hwc(static_cast<std::size_t>(out.width * out.height * channels));
  Transformer(out, channels, how)
      .run(picture, coverage, crop.value_or(Rect{0, 0, picture.width, picture.height}), draw,
           hwc.data());
  return hwc;
}

Picture square() { return golden_picture(golden_images()["pictures"]["square"]); }
constexpr Interpolation kSame{Resize::nearest};

Picture channel_of(const Picture& picture, int channel) {
  Picture grey;
  grey.reshape(picture.height, picture.width, 1);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i)
    grey.pixels[i] = picture.pixels[3 * i + static_cast<std::size_t>(channel)];
  return grey;
}

TEST(Transform, ResizesAsPillowAndTensorFlowDo) {
  for (const nlohmann::json& golden : golden_images()["resizes"]) {
    const Picture picture = golden_picture(golden_images()["pictures"][golden["from"]]);
    const Size out{golden["size"][0], golden["size"][1]};
    const Interpolation how = parse_interpolation(golden["method"].get<std::string>());
    const std::vector<std::uint8_t> expected = from_base64(golden["pixels"]);
    SCOPED_TRACE(golden["by"].get<std::string>() + " " + golden["method"].get<std::string>() + " " +
                 std::to_string(out.height));
    const int allowed = how.method == Resize::nearest ? 0 : 1;
    EXPECT_LE(greatest_difference(transform(picture, out, how), expected), allowed);
    // Grey is another path of the code.
    for (int c = 0; c < 3; ++c) {
      const std::vector<std::uint8_t> grey = transform(channel_of(picture, c), out, how);
      for (std::size_t i = 0; i < grey.size(); ++i)
        ASSERT_NEAR(grey[i], expected[3 * i + static_cast<std::size_t>(c)], allowed);
    }
  }
}

TEST(Transform, PixelsOutsideTheCropDoNotEnter) {
  const Picture picture = golden_picture(golden_images()["pictures"]["large"]);
  const Rect crop{20, 31, 40, 53};
  Picture cut;
  cut.reshape(crop.height, crop.width, 3);
  for (std::int64_t y = 0; y < crop.height; ++y)
    std::copy_n(picture.row(crop.y + y) + 3 * crop.x, cut.row_bytes(), cut.row(y));
  for (const char* name : {"nearest", "bilinear", "bilinear-antialias", "bicubic", "area"}) {
    const Interpolation how = parse_interpolation(name);
    for (const Size out : {Size{17, 19}, Size{64, 64}})
      EXPECT_EQ(transform(picture, out, how, {}, crop), transform(cut, out, how)) << name;
  }
}

TEST(Transform, TakesThePlaceOfACropFromItsCoverage) {
  // Each pixel of the picture stands for 2x2 of an image that rises by 2 per column and 1 per row.
  Picture picture;
  picture.reshape(40, 50, 1);
  const Coverage coverage{.x = 8, .y = 4, .scale = 2};
  for (std::int64_t y = 0; y < picture.height; ++y)
    for (std::int64_t x = 0; x < picture.width; ++x)
      picture.row(y)[x] = static_cast<std::uint8_t>(2 * (2 * x + 8) + 1 + (2 * y + 4));
  const Rect crop{21, 15, 30, 26};
  const Size out{13, 15};
  const std::vector<std::uint8_t> hwc =
      transform(picture, out, {Resize::bilinear, false}, {}, crop, coverage);
  for (std::int64_t y = 1; y < out.height - 1; ++y)
    for (std::int64_t x = 1; x < out.width - 1; ++x) {
      const double column = 21 + (static_cast<double>(x) + 0.5) * 2 - 1;
      const double row = 15 + (static_cast<double>(y) + 0.5) * 2 - 1;
      EXPECT_NEAR(hwc[static_cast<std::size_t>(y * out.width + x)], 2 * column + row + 1, 1.01);
    }
}

TEST(Transform, FlipsMirrorThePixels) {
  const Picture picture = golden_picture(golden_images()["pictures"]["small"]);
  const Size out{13, 17};
  for (const char* name : {"nearest", "bilinear", "bilinear-antialias", "bicubic", "area"}) {
    const Interpolation how = parse_interpolation(name);
    const std::vector<std::uint8_t> plain = transform(picture, out, how);
    const std::vector<std::uint8_t> across =
        transform(picture, out, how, {.horizontal_flip = true});
    const std::vector<std::uint8_t> down = transform(picture, out, how, {.vertical_flip = true});
    for (std::int64_t y = 0; y < out.height; ++y)
      for (std::int64_t x = 0; x < out.width; ++x)
        for (std::int64_t c = 0; c < 3; ++c) {
          const auto at = [&](std::int64_t row, std::int64_t column) {
            return static_cast<std::size_t>((row * out.width + column) * 3 + c);
          };
          ASSERT_EQ(across[at(y, x)], plain[at(y, out.width - 1 - x)]) << name;
          ASSERT_EQ(down[at(y, x)], plain[at(out.height - 1 - y, x)]) << name;
        }
  }
}

TEST(Transform, WarpsAsKerasDoes) {
  for (const nlohmann::json& golden : golden_images()["warps"]) {
    const std::string fill = golden["fill_mode"];
    const Draw draw{.rotation = golden["theta"],
                    .shear = golden["shear"],
                    .zoom_x = golden["zx"],
                    .zoom_y = golden["zy"],
                    .shift_x_pixels = golden["tx"],
                    .shift_y_pixels = golden["ty"],
                    .fill_mode = parse_augment("fill_mode=" + fill).fill_mode,
                    .cval = golden["cval"]};
    const Picture picture = square();
    EXPECT_LE(greatest_difference(transform(picture, picture.size(), kSame, draw),
                                  from_base64(golden["pixels"])),
              1)
        << golden.dump().substr(0, 120);
    // Grey is another path of the code.
    const std::vector<std::uint8_t> colour = transform(picture, picture.size(), kSame, draw);
    const std::vector<std::uint8_t> grey =
        transform(channel_of(picture, 1), picture.size(), kSame, draw);
    for (std::size_t i = 0; i < grey.size(); ++i) ASSERT_NEAR(grey[i], colour[3 * i + 1], 1);
  }
}

TEST(Transform, AFlipAfterAWarpMirrorsIt) {
  const Picture picture = square();
  const Size size = picture.size();
  Draw draw{.rotation = 25, .zoom_x = 0.9, .shift_y_share = 0.1};
  const std::vector<std::uint8_t> plain = transform(picture, size, kSame, draw);
  draw.horizontal_flip = draw.vertical_flip = true;
  const std::vector<std::uint8_t> flipped = transform(picture, size, kSame, draw);
  for (std::size_t i = 0; i < plain.size() / 3; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_NEAR(flipped[3 * i + c], plain[plain.size() - 3 - 3 * i + c], 1);
}

TEST(Transform, ChangesColoursAsKerasAndTensorFlowDo) {
  for (const nlohmann::json& golden : golden_images()["colours"]) {
    const Draw draw{.channel_shift = golden.value("channel_shift", 0.0),
                    .brightness = golden.value("brightness", 1.0),
                    .contrast = golden.value("contrast", 1.0),
                    .saturation = golden.value("saturation", 1.0),
                    .hue = golden.value("hue", 0.0)};
    const Picture picture = square();
    EXPECT_LE(greatest_difference(transform(picture, picture.size(), kSame, draw),
                                  from_base64(golden["pixels"])),
              1)
        << golden.dump().substr(0, 60);
  }
}

TEST(Transform, CutoutGreysOneSquareAndNothingElse) {
  const Picture picture = square();  // 18x18
  const Draw draw{.cutout = 0.5, .cutout_at = {0.5, 0.0}};
  const std::vector<std::uint8_t> hwc = transform(picture, picture.size(), kSame, draw);
  for (std::int64_t y = 0; y < 18; ++y)
    for (std::int64_t x = 0; x < 18; ++x) {
      const bool is_cut = x >= 5 && x < 14 && y < 5;
      for (std::int64_t c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>((y * 18 + x) * 3 + c);
        EXPECT_EQ(hwc[at], is_cut ? 128 : picture.pixels[at]);
      }
    }
}

TEST(Transform, AllocatesNothingForASecondPicture) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers own malloc";
  const Picture picture = golden_picture(golden_images()["pictures"]["large"]);
  for (const char* name :
       {"nearest", "bilinear", "bilinear-antialias", "bicubic-antialias", "area"})
    for (const Size out : {Size{7, 5}, Size{200, 100}}) {
      const Interpolation how = parse_interpolation(name);
      std::vector<std::uint8_t> hwc(static_cast<std::size_t>(out.width * out.height * 3));
      Transformer transformer(out, 3, how);
      const auto run = [&] {
        transformer.run(picture, {}, {0, 0, picture.width, picture.height}, {.rotation = 5},
                        hwc.data());
      };
      run();
      const std::int64_t before = allocations_so_far();
      run();
      EXPECT_EQ(allocations_so_far(), before) << name;
    }
}

// Rows that come one after the other, from images stored in any orientation, against the whole
// picture turned upright before.
TEST(Transform, RowsAsTheyComeGiveThePictureOfTheWhole) {
  const Draw plain;
  Draw flipped;
  flipped.horizontal_flip = flipped.vertical_flip = true;
  Draw warped{.rotation = 9};
  warped.horizontal_flip = true;
  std::vector<std::uint8_t> expected;
  std::vector<std::uint8_t> hwc;
  Decoder decoder;
  Picture picture;
  std::uint64_t number = 0;
  for (const nlohmann::json& file : golden_images()["files"]) {
    const std::string name = file["name"];
    const std::vector<std::byte> bytes = tests::golden_file(name);
    const ImageInfo info = probe_image(bytes, name);
    for (const char* method :
         {"nearest", "bilinear", "bilinear-antialias", "bicubic", "bicubic-antialias", "area"})
      for (const Size out : {Size{7, 5}, Size{30, 41}, Size{1, 1}})
        for (const Draw& draw : {plain, flipped, warped})
          for (const int channels : {1, 3}) {
            SCOPED_TRACE(name + " " + method + " to " + std::to_string(out.width));
            ++number;
            const auto pick = [&](std::uint64_t use, std::int64_t below) {
              return static_cast<std::int64_t>(philox(number, use, 7)[0] %
                                               static_cast<std::uint64_t>(below));
            };
            Rect crop{pick(0, info.width), pick(1, info.height), 0, 0};
            crop.width = 1 + pick(2, info.width - crop.x);
            crop.height = 1 + pick(3, info.height - crop.y);
            if (number % 3 == 0) crop = {0, 0, info.width, info.height};
            const Interpolation how = parse_interpolation(method);
            const auto size = static_cast<std::size_t>(out.width * out.height * channels);
            expected.assign(size, 0);
            hwc.assign(size, 255);
            const DecodeRequest request{.channels = channels, .crop = crop};
            const Coverage coverage = decoder.decode(bytes, name, info, request, picture);
            Transformer(out, channels, how).run(picture, coverage, crop, draw, expected.data());

            Room room(Transformer::bytes(out, channels, how, info.size()) +
                      decode_bytes(info, request));
            Transformer transformer(out, channels, how, room);
            Decoder rows(room);
            rows.decode(bytes, name, info, request,
                        transformer.begin(info.orientation, {info.stored_height, info.stored_width},
                                          crop, draw, hwc.data()));
            transformer.finish();
            ASSERT_EQ(hwc, expected);
          }
  }
}

TEST(Transform, WritesNothingBeyondItsOutput) {
  const Picture picture = golden_picture(golden_images()["pictures"]["small"]);
  for (const char* name : {"nearest", "bilinear", "bicubic", "area"}) {
    constexpr std::size_t kEnd = 64;
    std::vector<std::uint8_t> hwc(9 * 11 * 3 + kEnd, 0xAB);
    for (const double rotation : {0.0, 10.0}) {
      Transformer(Size{9, 11}, 3, parse_interpolation(name))
          .run(picture, {}, {0, 0, picture.width, picture.height}, {.rotation = rotation},
               hwc.data());
      for (std::size_t i = hwc.size() - kEnd; i < hwc.size(); ++i) ASSERT_EQ(hwc[i], 0xAB) << name;
    }
  }
}

TEST(Transform, NamesReadBack) {
  for (const char* name :
       {"nearest", "bilinear", "bilinear-antialias", "bicubic", "bicubic-antialias", "area"})
    EXPECT_EQ(to_text(parse_interpolation(name)), name);
  EXPECT_COMPLAINT(parse_interpolation("biliner"), UsageError, "did you mean 'bilinear'?");
  for (const char* name : {"none", "scale", "tf", "caffe", "torch", "slim"})
    EXPECT_EQ(to_text(parse_normalisation(name)), name);
  EXPECT_COMPLAINT(parse_normalisation("pytorch"), UsageError, "none, scale, tf, caffe, torch");
}

TEST(Normalise, SlimTakesTheMeansFromRedGreenAndBlue) {
  const std::array<std::uint8_t, 3> pixel = {0, 128, 255};
  std::array<float, 3> chw{};
  normalise(pixel.data(), {1, 1}, 3, {parse_normalisation("slim")}, chw.data());
  EXPECT_FLOAT_EQ(chw[0], -123.68F);
  EXPECT_FLOAT_EQ(chw[1], 128 - 116.78F);
  EXPECT_FLOAT_EQ(chw[2], 255 - 103.94F);
}

TEST(Normalise, EqualsKeras) {
  for (const nlohmann::json& golden : golden_images()["normalised"]) {
    const std::vector<std::uint8_t> pixel = golden["pixel"];
    const Normalisation how{parse_normalisation(golden["mode"].get<std::string>())};
    std::array<float, 3> chw{};
    normalise(pixel.data(), {1, 1}, 3, how, chw.data());
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_FLOAT_EQ(chw[c], golden["values"][c].get<float>()) << golden["mode"];
  }
}

TEST(Normalise, PutsEveryPixelOfEveryChannelInItsPlane) {
  for (const int channels : {1, 3})
    for (const std::int64_t width : {1, 7, 8, 9, 24, 31}) {
      const Size size{3, width};
      std::vector<std::uint8_t> hwc(static_cast<std::size_t>(3 * width * channels));
      for (std::size_t i = 0; i < hwc.size(); ++i) hwc[i] = static_cast<std::uint8_t>(i * 37);
      std::vector<float> chw(hwc.size());
      normalise(hwc.data(), size, channels, {Normalisation::Mode::scale, 2}, chw.data());
      for (std::int64_t i = 0; i < 3 * width; ++i)
        for (std::int64_t c = 0; c < channels; ++c)
          ASSERT_FLOAT_EQ(
              chw[static_cast<std::size_t>(c * 3 * width + i)],
              static_cast<float>(hwc[static_cast<std::size_t>(i * channels + c)]) / 255.0F * 2.0F);
    }
}

}  // namespace
}  // namespace plimsoll
