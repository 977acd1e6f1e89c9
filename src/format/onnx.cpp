#include "format/onnx.h"

#include "base/error.h"
#include "base/files.h"
#include "format/protobuf.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kFloat = 1, kInt64 = 7;  // TensorProto.DataType
constexpr std::int64_t kElementsAtOnce = 1 << 16;
constexpr std::uint64_t kLargest = (std::uint64_t{1} << 31) - 1;

ProtoWriter attribute_message(const std::string& name, const OnnxAttribute& value) {
  ProtoWriter message;
  message.bytes(1, name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    message.integer(3, *integer).integer(20, 2);
  } else if (const auto* real = std::get_if<float>(&value)) {
    message.float32(2, *real).integer(20, 1);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    message.bytes(4, *text).integer(20, 3);
  } else {
    for (const std::int64_t each : std::get<std::vector<std::int64_t>>(value))
      message.integer(8, each);
    message.integer(20, 7);
  }
  return message;
}

ProtoWriter node_message(const OnnxNode& node) {
  ProtoWriter message;
  for (const std::string& input : node.inputs) message.bytes(1, input);
  for (const std::string& output : node.outputs) message.bytes(2, output);
  message.bytes(3, node.name).bytes(4, node.op);
  for (const auto& [name, value] : node.attributes)
    message.message(5, attribute_message(name, value));
  return message;
}

ProtoWriter value_message(const OnnxValue& value) {
  ProtoWriter shape;
  shape.message(1, ProtoWriter().bytes(2, value.batch));
  for (const std::int64_t dim : value.shape) shape.message(1, ProtoWriter().integer(1, dim));
  const ProtoWriter tensor = ProtoWriter().integer(1, kFloat).message(2, shape);
  return ProtoWriter().bytes(1, value.name).message(2, ProtoWriter().message(1, tensor));
}

std::int64_t elements_of(const OnnxTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t dim : tensor.shape) count *= dim;
  return count;
}

// What stands before the bytes of a tensor, and how many those are.
struct TensorPart {
  std::string head;
  std::uint64_t bytes = 0;
};

TensorPart tensor_part(const OnnxTensor& tensor) {
  ProtoWriter message;
  for (const std::int64_t dim : tensor.shape) message.integer(1, dim);
  message.integer(2, tensor.read ? kFloat : kInt64).bytes(8, tensor.name);
  if (!tensor.read) {
    for (const std::int64_t each : tensor.integers) message.integer(7, each);
    return {ProtoWriter().begin_bytes(5, message.text().size()).text() + message.text(), 0};
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(elements_of(tensor)) * sizeof(float);
  message.begin_bytes(9, bytes);
  return {ProtoWriter().begin_bytes(5, message.text().size() + bytes).text() + message.text(),
          bytes};
}

void write_elements(AtomicFile& file, const OnnxTensor& tensor, std::vector<float>& piece) {
  const std::int64_t count = elements_of(tensor);
  for (std::int64_t first = 0; first < count; first += kElementsAtOnce) {
    const auto length = static_cast<std::size_t>(std::min(kElementsAtOnce, count - first));
    const std::span<float> part(piece.data(), length);
    tensor.read(first, part);
    file.write(std::as_bytes(part));
  }
}

}  // namespace

void write_onnx_file(const std::filesystem::path& path, const OnnxModel& model) {
  ProtoWriter beginning;
  beginning.integer(1, kIrVersion).bytes(2, model.producer).bytes(3, model.producer_version);
  beginning.message(8, ProtoWriter().bytes(1, "").integer(2, model.opset));
  for (const auto& [key, value] : model.metadata)
    beginning.message(14, ProtoWriter().bytes(1, key).bytes(2, value));

  ProtoWriter graph;
  for (const OnnxNode& node : model.nodes) graph.message(1, node_message(node));
  graph.bytes(2, model.name);
  for (const OnnxValue& input : model.inputs) graph.message(11, value_message(input));
  for (const OnnxValue& output : model.outputs) graph.message(12, value_message(output));
  std::vector<TensorPart> parts;
  std::uint64_t length = graph.text().size();
  for (const OnnxTensor& tensor : model.tensors) {
    parts.push_back(tensor_part(tensor));
    length += parts.back().head.size() + parts.back().bytes;
  }
  if (length + beginning.text().size() > kLargest)
    throw UsageError({.where = path.string(),
                      .got = "an ONNX file of " + std::to_string(length) + " bytes",
                      .expected = "expected less than 2 GiB, the most that the format holds"});

  beginning.begin_bytes(7, length);
  AtomicFile file(path);
  file.write(beginning.text());
  file.write(graph.text());
  std::vector<float> piece(static_cast<std::size_t>(kElementsAtOnce));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    file.write(parts[i].head);
    if (model.tensors[i].read) write_elements(file, model.tensors[i], piece);
  }
  file.commit();
}

}  // namespace plimsoll
