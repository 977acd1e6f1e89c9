// tests/golden/images.json (made by tools/golden/make_images.py) as pictures.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "data/picture/picture.h"

namespace plimsoll::tests {

const nlohmann::json& golden_images();

// Bytes of a base64 text.
std::vector<std::uint8_t> from_base64(const std::string& text);

// The bytes of an encoded file of the golden ones, by name.
std::vector<std::byte> golden_file(const std::string& name);

// An RGB picture of {size, pixels}.
Picture golden_picture(const nlohmann::json& entry);

// The greatest difference of two samples; 256 if the sizes differ.
int greatest_difference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

std::span<const std::byte> as_bytes(const std::string& text);

}  // namespace plimsoll::tests
