// Which files are pictures, by their names.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

namespace plimsoll {

// Ends as a format that is read does, in any case: .jpg, .jpeg, .jpe, .jfif, .png, .bmp, .webp,
// .gif.
bool is_picture_name(std::string_view name);

// The kind of a picture that is not read, "TIFF", "PPM", "HEIC" or "AVIF"; empty for other names.
std::string_view unread_kind(std::string_view name);

// The first of the folders that holds a file of that name.
std::optional<std::filesystem::path> find_folder_of(std::string_view name,
                                                    std::span<const std::filesystem::path> folders);

}  // namespace plimsoll
