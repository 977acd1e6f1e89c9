// A file whose tensors are not quite what a network of ours takes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "format/tensor_file.h"

namespace plimsoll::interop {

// Another file's tensors under their names and numbers, some of them changed. Pieces of a changed
// tensor may be shorter than the buffer. Thread-compatible.
class ChangedTensors final : public TensorFile {
 public:
  explicit ChangedTensors(std::shared_ptr<const TensorFile> file)
      : file_(std::move(file)), tensors_(file_->tensors()) {}

  // Of the rows along the first axis, the first of every `period` is left out. The period divides
  // their number and is at least 2.
  void leave_out_rows(std::size_t tensor, std::int64_t period);

  // The elements become what `make` gives for them and for those of `other`, a vector of as many,
  // one by one, when they are read. Both are of numbers, and short: they are held whole.
  using Make = std::function<float(float element, float of_other)>;
  void combine(std::size_t tensor, std::size_t other, Make make);

  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const override;

 private:
  struct Combined {
    std::size_t other = 0;
    Make make;
  };
  std::vector<float> read_whole(std::size_t tensor, std::span<std::byte> buffer) const;

  std::shared_ptr<const TensorFile> file_;
  std::vector<StoredTensor> tensors_;
  std::map<std::size_t, std::int64_t> periods_;
  std::map<std::size_t, Combined> combined_;
};

}  // namespace plimsoll::interop
