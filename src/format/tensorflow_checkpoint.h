// Checkpoints of TensorFlow in both formats: PREFIX.index with PREFIX.data-?????-of-?????, and the
// one table that was written before 1.0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/files.h"
#include "format/tensor_file.h"
#include "format/tensorflow_table.h"

namespace plimsoll {

// Tensors of numbers by their variables' names; strings are left out. Sliced variables are refused.
class TensorflowCheckpoint final : public TensorFile {
 public:
  // The .index or table file that `path` means: itself, or beside a prefix or .data file that is
  // named. Nothing if there is none.
  static std::optional<std::filesystem::path> find_table(const std::filesystem::path& path);

  // `path` is any that find_table() knows.
  explicit TensorflowCheckpoint(const std::filesystem::path& path);

  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  // 1 or 2.
  int format() const { return shards_.empty() ? 1 : 2; }

  // Checks what was read against the file's checksum: what was taken counts only when this returns.
  void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const override;

 private:
  // Where elements are: in a shard, or in a value of the table.
  struct Place {
    std::size_t shard = 0;
    std::int64_t offset = 0;     // in the shard, or of the value in its block
    std::int64_t bytes = 0;      // there
    std::uint32_t checksum = 0;  // of a shard's bytes, masked
    TensorflowTable::Handle block;
  };

  void list_bundle();
  void list_slices(std::span<const std::byte> meta);
  void place_slices();
  void add(StoredTensor tensor, const Place& place, std::int64_t room);
  void read_shard(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const;
  void read_slice(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const;
  [[noreturn]] void fail(std::string_view tensor, std::string got, std::string expected) const;

  TensorflowTable table_;
  std::vector<InputFile> shards_;
  std::vector<StoredTensor> tensors_;
  std::vector<Place> places_;
  std::size_t name_bytes_ = 0;
};

}  // namespace plimsoll
