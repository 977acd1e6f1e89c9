// Weights in a file, as runs leave them (safetensors).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace plimsoll::v1 {

struct WeightInfo {
  std::string name;  // "conv2d/kernel"
  std::vector<std::int64_t> shape;
};

// An open file. Values are read when they are asked for.
class Weights {
 public:
  // DataError if it cannot be read or is no safetensors file.
  explicit Weights(const std::string& path);
  Weights(Weights&&) noexcept;
  Weights& operator=(Weights&&) noexcept;
  ~Weights();

  // In the order of the file.
  std::vector<WeightInfo> list() const;
  // In row-major order. UsageError if there is none of that name, DataError if it is not of floats.
  std::vector<float> read(const std::string& name) const;
  // What the file says about itself: "run.model", "run.class_names".
  std::map<std::string, std::string> metadata() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace plimsoll::v1
