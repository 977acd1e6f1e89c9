#include "data/source/picture_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace plimsoll {

bool is_picture_name(std::string_view name) {
  constexpr std::array<std::string_view, 8> kEndings = {".jpg", ".jpeg", ".jpe",  ".jfif",
                                                        ".png", ".bmp",  ".webp", ".gif"};
  const std::string small = to_lower(name);
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return small.ends_with(end); });
}

std::string_view unread_kind(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKinds = {
      {{"tif", "TIFF"},
       {"tiff", "TIFF"},
       {"ppm", "PPM"},
       {".pgm", "PPM"},
       {".pbm", "PPM"},
       {".heic", "HEIC"},
       {".heif", "HEIC"},
       {".avif", "AVIF"}}};
  const std::string small = to_lower(name);
  for (const auto& [end, kind] : kKinds)
    if (small.ends_with(end)) return kind;
  return {};
}

std::optional<std::filesystem::path> find_folder_of(
    std::string_view name, std::span<const std::filesystem::path> folders) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return std::nullopt;
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    if (std::filesystem::is_regular_file(folder / name, error)) return folder;
  }
  return std::nullopt;
}

}  // namespace plimsoll
