// A small data set with boxes, in Pascal VOC's folders: light and dark rectangles on grey.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/random.h"
#include "tests/support/image_folder.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {

// `count` pictures of 96x64, every fourth of them in the list "val", the others in "train". Picture
// i has i % 4 boxes, of the classes "dark" and "light".
class BoxFolder {
 public:
  explicit BoxFolder(int count) {
    std::string lists[2];
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("{:03}", i);
      add(name, i % 4, static_cast<std::uint64_t>(i));
      lists[i % 4 == 3 ? 1 : 0] += name + "\n";
    }
    folder_.put("ImageSets/Main/train.txt", lists[0]);
    folder_.put("ImageSets/Main/val.txt", lists[1]);
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path picture(int i) const {
    return path() / "JPEGImages" / fmt::format("{:03}.bmp", i);
  }
  // Puts `objects`, XML, in the place of a picture's.
  void annotate(int i, const std::string& objects) const {
    const std::string name = fmt::format("{:03}", i);
    folder_.put("Annotations/" + name + ".xml", annotation(name, objects));
  }
  static std::string object(const std::string& name, double x0, double y0, double x1, double y1) {
    return fmt::format(
        "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}"
        "</ymax></bndbox></object>",
        name, x0, y0, x1, y1);
  }

 private:
  static constexpr int kWidth = 96, kHeight = 64;

  static std::string annotation(const std::string& name, const std::string& objects) {
    return fmt::format(
        "<annotation><filename>{}.bmp</filename><size><width>{}</width><height>{}</height></size>"
        "{}</annotation>",
        name, kWidth, kHeight, objects);
  }

  void add(const std::string& name, int boxes, std::uint64_t seed) {
    std::string image = bmp_image(kWidth, kHeight, 1);
    constexpr std::size_t kHeader = 54;
    for (std::size_t at = kHeader; at < image.size(); ++at)
      image[at] = static_cast<char>(120 + philox_share(seed, at) * 16);
    std::string objects;
    for (int b = 0; b < boxes; ++b) {
      const int side = 12 + static_cast<int>(philox_share(seed, 1000 + 3 * b) * 20);
      const int x = static_cast<int>(philox_share(seed, 1001 + 3 * b) * (kWidth - side));
      const int y = static_cast<int>(philox_share(seed, 1002 + 3 * b) * (kHeight - side));
      const bool light = (b + seed) % 2 == 0;
      for (int row = y; row < y + side; ++row)
        for (int column = x; column < x + side; ++column)
          for (int c = 0; c < 3; ++c)  // rows of a BMP go up
            image[kHeader + static_cast<std::size_t>(((kHeight - 1 - row) * kWidth + column) * 3 +
                                                     c)] = static_cast<char>(light ? 240 : 10);
      objects += object(light ? "light" : "dark", x + 1, y + 1, x + side, y + side);
    }
    folder_.put("JPEGImages/" + name + ".bmp", image);
    folder_.put("Annotations/" + name + ".xml", annotation(name, objects));
  }

  static double philox_share(std::uint64_t seed, std::uint64_t i) {
    return (signed_unit(seed, i) + 1) / 2;
  }

  TemporaryFolder folder_;
};

}  // namespace plimsoll
