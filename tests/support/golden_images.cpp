#include "tests/support/golden_images.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace plimsoll::tests {

const nlohmann::json& golden_images() {
  static const nlohmann::json golden = [] {
    std::ifstream file(std::string(PLIMSOLL_TESTS_DIR) + "/golden/images.json");
    return nlohmann::json::parse(file);
  }();
  return golden;
}

std::vector<std::uint8_t> from_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  unsigned held = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    held = held << 6 | static_cast<unsigned>(kDigits.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(held >> bits));
  }
  return bytes;
}

std::vector<std::byte> golden_file(const std::string& name) {
  for (const nlohmann::json& file : golden_images()["files"]) {
    if (file["name"] != name) continue;
    const std::vector<std::uint8_t> bytes = from_base64(file["bytes"]);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    return {begin, begin + bytes.size()};
  }
  throw std::runtime_error("no golden file " + name);
}

Picture golden_picture(const nlohmann::json& entry) {
  Picture picture;
  picture.reshape(entry["size"][0], entry["size"][1], 3);
  picture.pixels = from_base64(entry["pixels"]);
  return picture;
}

int greatest_difference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  if (a.size() != b.size()) return 256;
  int greatest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) greatest = std::max(greatest, std::abs(a[i] - b[i]));
  return greatest;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace plimsoll::tests
