// HDF5 files, as far as h5py writes them by default and Keras needs it: the superblock of version
// 0, groups with symbol tables, attributes of numbers and text, contiguous datasets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "format/tensor_file.h"

namespace plimsoll {

// An attribute of a group or of a dataset, with all its values in a row. What is neither text nor
// integers has none.
struct Hdf5Attribute {
  std::string name;
  std::vector<std::string> texts;  // fixed or of variable length; what pads them is cut off
  std::vector<std::int64_t> integers;
};

// A group or a dataset, with all that is in it.
struct Hdf5Object {
  std::string name;          // without the groups it is in; the root's is empty
  std::int64_t address = 0;  // of its header: ascends as a program makes one after the other
  bool is_group = false;
  std::vector<Hdf5Attribute> attributes;
  std::vector<Hdf5Object> members;    // of a group, by name
  std::optional<std::size_t> tensor;  // of Hdf5File::tensors(): a dataset of numbers

  // By a path, "model_weights/conv2d_1"; an empty one is the object itself. Null if it is not
  // there.
  const Hdf5Object* find(std::string_view path) const;
  const Hdf5Attribute* attribute(std::string_view wanted) const;
  // The first text of an attribute; empty if there is none.
  std::string text(std::string_view wanted) const;
};

// An open file, or a file inside another. Its constructor reads all structure and no data. Refuses,
// as a DataError that names the byte: what is cut short; links that are soft or external; an object
// that is reached twice, so cycles too; groups more than 64 deep; more structure, or more data,
// than the file has bytes; and, by name, what others may write (chunks, compression, version 2
// headers). Thread-compatible.
class Hdf5File final : public TensorFile {
 public:
  explicit Hdf5File(const std::filesystem::path& path);
  // The file that lies in bytes [offset, offset + length) of another.
  Hdf5File(const std::filesystem::path& path, std::int64_t offset, std::int64_t length);

  const Hdf5Object& root() const { return root_; }
  // Datasets of numbers, depth first, by path: "model_weights/conv2d_1/conv2d_1/kernel:0". Those
  // that were never written are zeros.
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const override;

 private:
  InputFile file_;
  Hdf5Object root_;
  std::vector<StoredTensor> tensors_;
  std::vector<std::int64_t> offsets_;  // in the file, one per tensor; negative: never written
};

}  // namespace plimsoll
