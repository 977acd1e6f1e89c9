// Files that torch.save writes, in both forms: a zip archive (NAME/data.pkl and NAME/data/KEY), and
// the one before PyTorch 1.6 (five pickles, then the storages one behind the other).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "format/state_dict.h"
#include "format/tensor_file.h"
#include "format/zip.h"

namespace plimsoll {

// The state_dict of a file, also of a checkpoint that has one among other things. Nothing in the
// file is run (format/pickle.h); every tensor is checked against the storage it is a view of.
class TorchFile final : public TensorFile {
 public:
  // Whether a file that begins like this is of the form before PyTorch 1.6.
  static bool is_old_form(std::string_view head);
  // Whether an archive is one of torch.save.
  static bool is_archive(const ZipReader& archive);

  explicit TorchFile(const std::filesystem::path& path);

  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  bool is_archive() const { return is_archive_; }

  // Elements that do not lie one behind the other are gathered from the file as it is mapped.
  void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const override;

 private:
  // Where a tensor's elements are.
  struct Place {
    std::int64_t storage = 0;  // byte of the file
    std::int64_t bytes = 0;    // of the storage
    std::int64_t offset = 0;   // of the first element, in elements
    std::vector<std::int64_t> strides;
  };
  // A storage's bytes in the file.
  struct Range {
    std::int64_t begin = 0, bytes = 0;
  };

  StateDict load_old_form(std::vector<Range>& ranges) const;
  StateDict load_archive(std::vector<Range>& ranges) const;
  void place(StateDict content, const std::vector<Range>& ranges);

  InputFile file_;
  bool is_archive_ = false;
  std::vector<StoredTensor> tensors_;
  std::vector<Place> places_;
};

}  // namespace plimsoll
