// ONNX files: one graph of nodes, and tensors that are read a piece at a time while the file is
// written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll {

using OnnxAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;

struct OnnxNode {
  std::string op;
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, OnnxAttribute>> attributes;
};

// A constant: floats that `read` gives, elements [first, first + out.size()) in row-major order, or
// integers.
struct OnnxTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<void(std::int64_t first, std::span<float> out)> read;
  std::vector<std::int64_t> integers;  // where `read` is empty
};

// A float tensor that comes in or goes out; its first dimension has a name.
struct OnnxValue {
  std::string name;
  std::string batch;                // "N"
  std::vector<std::int64_t> shape;  // of one sample
};

struct OnnxModel {
  std::string name;
  std::string producer, producer_version;
  std::int64_t opset = 17;
  std::vector<OnnxNode> nodes;  // each behind those whose outputs it reads
  std::vector<OnnxTensor> tensors;
  std::vector<OnnxValue> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// The file appears complete or not at all. Beside the nodes' text, one piece of a tensor is held.
// UsageError if it would exceed the 2 GiB of a protocol buffer; DataError if it cannot be written.
void write_onnx_file(const std::filesystem::path& path, const OnnxModel& model);

}  // namespace plimsoll
