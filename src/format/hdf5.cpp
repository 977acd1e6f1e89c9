#include "format/hdf5.h"

#include <algorithm>

#include "base/error.h"
#include "format/hdf5_region.h"
#include "format/hdf5_tree.h"

namespace plimsoll {

const Hdf5Object* Hdf5Object::find(std::string_view path) const {
  const Hdf5Object* at = this;
  while (!path.empty() && at != nullptr) {
    const std::string_view step = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const auto found = std::ranges::lower_bound(at->members, step, {}, &Hdf5Object::name);
    at = found != at->members.end() && found->name == step ? &*found : nullptr;
  }
  return at;
}

const Hdf5Attribute* Hdf5Object::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &Hdf5Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::string Hdf5Object::text(std::string_view wanted) const {
  const Hdf5Attribute* found = attribute(wanted);
  return found == nullptr || found->texts.empty() ? "" : found->texts.front();
}

Hdf5File::Hdf5File(const std::filesystem::path& path) : file_(open_input(path)) {
  Hdf5Region region(file_, 0, file_.size.count);
  root_ = Hdf5Tree(region, tensors_, offsets_).root();
}

Hdf5File::Hdf5File(const std::filesystem::path& path, std::int64_t offset, std::int64_t length)
    : file_(open_input(path)) {
  if (offset < 0 || length < 0 || offset > file_.size.count || length > file_.size.count - offset)
    throw DataError(
        {.where = path.string(),
         .got = "the file has " + std::to_string(file_.size.count) + " bytes",
         .expected = "expected " + std::to_string(length) + " at byte " + std::to_string(offset),
         .hint = "it shrank while it was read"});
  Hdf5Region region(file_, offset, length);
  root_ = Hdf5Tree(region, tensors_, offsets_).root();
}

void Hdf5File::read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const {
  expect(!buffer.empty(), "reading needs a buffer");
  const std::int64_t size = tensors_[tensor].bytes();
  const std::int64_t offset = offsets_[tensor];
  if (offset < 0) std::ranges::fill(buffer, std::byte{0});
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t part = std::min(size - done, static_cast<std::int64_t>(buffer.size()));
    const std::span<std::byte> piece = buffer.first(static_cast<std::size_t>(part));
    if (offset >= 0) file_.read_at(offset + done, piece);
    take(piece);
    done += part;
  }
}

}  // namespace plimsoll
