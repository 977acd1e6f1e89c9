// Images per second of one thread from JPEG files to augmented bytes at network size; see
// bench/data.
//   data_speed FOLDER SECONDS SIDE RESIZE
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/stopwatch.h"
#include "data/picture/transform.h"

namespace plimsoll {
namespace {

int measure(const std::filesystem::path& folder, double seconds, std::int64_t side,
            Interpolation how) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::ranges::sort(paths);
  const Augment augment = parse_augment("random_resized_crop=0.35:1,horizontal_flip");
  Decoder decoder;
  Transformer transformer({side, side}, 3, how);
  Picture picture;
  std::vector<std::uint8_t> hwc(static_cast<std::size_t>(side * side * 3));
  const auto epoch = [&](std::int64_t number) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::string file = read_file(paths[i], 64_MiB);
      const auto bytes = std::as_bytes(std::span(file));
      const std::string where = paths[i].string();
      const ImageInfo info = probe_image(bytes, where);
      const Draw draw = draw_augment(augment, 1, number, static_cast<std::int64_t>(i));
      const Rect crop = crop_of(draw, info.size());
      const Coverage coverage =
          decoder.decode(bytes, where, info, {.crop = crop, .at_least = Size{side, side}}, picture);
      transformer.run(picture, coverage, crop, draw, hwc.data());
    }
  };
  epoch(0);
  const Stopwatch watch;
  std::int64_t images = 0;
  for (std::int64_t number = 1; watch.seconds() < seconds; ++number) {
    epoch(number);
    images += static_cast<std::int64_t>(paths.size());
  }
  fmt::print("{:.1f}\n", static_cast<double>(images) / watch.seconds());
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() != 5) {
    fmt::print(stderr, "usage: data_speed FOLDER SECONDS SIDE RESIZE\n");
    return 2;
  }
  try {
    return plimsoll::measure(words[1], std::stod(words[2]), std::stoll(words[3]),
                             plimsoll::parse_interpolation(words[4]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "data_speed: {}\n", error.what());
    return 1;
  }
}
