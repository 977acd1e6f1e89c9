#include <plimsoll/weights.h>

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "format/safetensors.h"

namespace plimsoll::v1 {

class Weights::Body {
 public:
  explicit Body(const std::string& path) : file(path) {}
  SafetensorsReader file;
};

Weights::Weights(const std::string& path) : body_(std::make_unique<Body>(path)) {}
Weights::Weights(Weights&&) noexcept = default;
Weights& Weights::operator=(Weights&&) noexcept = default;
Weights::~Weights() = default;

std::vector<WeightInfo> Weights::list() const {
  std::vector<WeightInfo> list;
  for (const StoredTensor& tensor : body_->file.tensors())
    list.push_back({tensor.name, tensor.shape});
  return list;
}

std::vector<float> Weights::read(const std::string& name) const {
  const SafetensorsReader& file = body_->file;
  const StoredTensor* tensor = file.find(name);
  if (tensor == nullptr) {
    std::vector<std::string> names;
    for (const StoredTensor& known : file.tensors()) names.push_back(known.name);
    throw UsageError({.where = file.path().string(),
                      .got = "there is no tensor '" + name + "'",
                      .expected = "expected one that list() names",
                      .hint = did_you_mean(nearest(name, names))});
  }
  if (tensor->type != ElementType::f32)
    throw DataError({.where = file.path().string() + ": " + name,
                     .got = to_string(*tensor),
                     .expected = "expected F32"});
  std::vector<float> values(static_cast<std::size_t>(tensor->bytes()) / sizeof(float));
  if (values.empty()) return values;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  std::size_t at = 0;
  file.read(name, buffer, [&](std::span<const std::byte> piece) {
    std::memcpy(reinterpret_cast<std::byte*>(values.data()) + at, piece.data(), piece.size());
    at += piece.size();
  });
  return values;
}

std::map<std::string, std::string> Weights::metadata() const { return body_->file.metadata(); }

}  // namespace plimsoll::v1
