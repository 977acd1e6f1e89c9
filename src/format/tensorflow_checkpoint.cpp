#include "format/tensorflow_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "format/tensorflow_protos.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Keys share beginnings in the file, so many names may come of a few bytes.
constexpr std::size_t kMaxNameBytes = std::size_t{16} << 20;
constexpr std::uint64_t kMaxShards = 1000;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// "model.ckpt" of "model.ckpt.data-00000-of-00001", or all of the name.
std::string prefix_of(const std::string& name) {
  const std::size_t data = name.rfind(".data-");
  return data == std::string::npos ? name : name.substr(0, data);
}

fs::path checked_table(const fs::path& path) {
  if (const auto table = TensorflowCheckpoint::find_table(path)) return *table;
  throw DataError({.where = path.string(),
                   .got = "no TensorFlow checkpoint of that name",
                   .expected = "expected a prefix with PREFIX.index beside it, or a table"});
}

}  // namespace

std::optional<fs::path> TensorflowCheckpoint::find_table(const fs::path& path) {
  const fs::path index = prefix_of(path.string()) + ".index";
  if (is_file(index)) return index;
  if (is_file(path) && TensorflowTable::is_table(open_input(path))) return path;
  return std::nullopt;
}

TensorflowCheckpoint::TensorflowCheckpoint(const fs::path& path) : table_(checked_table(path)) {
  // The first entry of either format has no name and tells which it is.
  std::optional<std::string> header;
  bool is_first = true;
  try {
    table_.visit([&](const TensorflowTable::Entry& entry) {
      if (std::exchange(is_first, false) && entry.key.empty()) header = as_text(entry.value);
    });
    if (!header) fail("", "a table without a header", "expected a checkpoint of TensorFlow");
    const std::span<const std::byte> bytes = std::as_bytes(std::span(*header));
    if (const auto meta = find_bytes(bytes, 1)) {
      list_slices(*meta);
      place_slices();
      return;
    }
    std::uint64_t shards = 0;
    ProtoReader reader(bytes);
    while (const auto field = reader.next()) {
      if (field->number == 1) shards = field->value;
      if (field->number == 2 && field->value != 0)
        fail("", "numbers of a big-endian machine", "expected little-endian ones");
    }
    const std::string name = table_.file().path.string();
    if (shards == 0 || shards > kMaxShards || !name.ends_with(".index"))
      fail("", "an index of " + std::to_string(shards) + " files",
           "expected 1 to 1000 of them, beside a file named PREFIX.index");
    const std::string prefix = name.substr(0, name.size() - std::strlen(".index"));
    for (std::uint64_t s = 0; s < shards; ++s)
      shards_.push_back(open_input(fmt::format("{}.data-{:05}-of-{:05}", prefix, s, shards)));
    list_bundle();
  } catch (const DataError& error) {
    // What a message says of itself does not know its file.
    if (error.complaint().where.starts_with("byte "))
      fail("", error.complaint().got, error.complaint().expected);
    throw;
  }
}

void TensorflowCheckpoint::add(StoredTensor tensor, const Place& place, std::int64_t room) {
  if (tensor.bytes() > room)
    fail(tensor.name, to_string(tensor) + " in " + std::to_string(room) + " bytes",
         "expected as many as it has elements");
  name_bytes_ += tensor.name.size();
  if (name_bytes_ > kMaxNameBytes) fail("", "more than 16 MiB of names", "expected a checkpoint");
  tensors_.push_back(std::move(tensor));
  places_.push_back(place);
}

void TensorflowCheckpoint::list_bundle() {
  table_.visit([&](const TensorflowTable::Entry& entry) {
    if (entry.key.empty()) return;
    const BundleEntry found = parse_bundle_entry(entry.value);
    const std::optional<ElementType> type = find_tensorflow_type(found.type);
    if (!type) return;
    StoredTensor tensor{.name = std::string(entry.key), .type = *type};
    if (found.is_sliced) fail(tensor.name, "a variable in several slices", "expected whole ones");
    if (!found.shape || found.shard >= shards_.size())
      fail(tensor.name, "a shape or place that cannot be", "expected one within the files");
    tensor.shape = *found.shape;
    const auto size = static_cast<std::uint64_t>(shards_[found.shard].size.count);
    if (found.offset > size || found.bytes > size - found.offset ||
        tensor.bytes() != static_cast<std::int64_t>(found.bytes))
      fail(tensor.name,
           to_string(tensor) + " as " + std::to_string(found.bytes) + " bytes at " +
               std::to_string(found.offset) + " of a file of " + std::to_string(size),
           "expected it within the file");
    add(std::move(tensor),
        {.shard = found.shard,
         .offset = static_cast<std::int64_t>(found.offset),
         .bytes = static_cast<std::int64_t>(found.bytes),
         .checksum = found.checksum},
        static_cast<std::int64_t>(found.bytes));
  });
}

void TensorflowCheckpoint::list_slices(std::span<const std::byte> meta) {
  ProtoReader reader(meta);
  while (const auto field = reader.next()) {
    if (field->number != 1 || field->type != WireType::bytes) continue;
    const SliceMeta about = parse_slice_meta(field->bytes);
    const std::optional<ElementType> type = find_tensorflow_type(about.type);
    if (!type) continue;
    StoredTensor tensor{.name = std::string(about.name), .type = *type};
    if (about.slices != 1)
      fail(tensor.name, std::to_string(about.slices) + " slices", "expected whole variables");
    if (!about.shape) fail(tensor.name, "a shape that cannot be", "expected a known one");
    tensor.shape = *about.shape;
    // A varint has at least a byte an element, and Snappy may have packed it.
    add(std::move(tensor), {.bytes = -1}, std::int64_t{256} * table_.file().size.count);
  }
}

void TensorflowCheckpoint::place_slices() {
  std::map<std::string_view, std::size_t> tensor_of;
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    if (!tensor_of.try_emplace(tensors_[t].name, t).second)
      fail(tensors_[t].name, "there twice", "expected one");
  table_.visit([&](const TensorflowTable::Entry& entry) {
    if (entry.key.empty()) return;
    const std::optional<SavedSlice> slice = find_saved_slice(entry.value);
    const auto found = slice ? tensor_of.find(slice->name) : tensor_of.end();
    if (found == tensor_of.end()) return;
    const StoredTensor& tensor = tensors_[found->second];
    Place& place = places_[found->second];
    const std::int64_t width = slice->is_varint ? 1 : size_of(tensor.type);
    const auto held = static_cast<std::int64_t>(slice->elements.size());
    const std::int64_t elements = tensor.bytes() / size_of(tensor.type);
    // The list alone says the type where the message names none.
    const bool is_other_type = slice->type != 0 && find_tensorflow_type(slice->type) != tensor.type;
    if (place.bytes >= 0 || is_other_type ||
        (slice->is_varint ? held < elements : held != elements * width))
      fail(tensor.name, to_string(tensor) + " in " + std::to_string(held) + " bytes",
           "expected one list of its elements");
    place = {.offset = entry.at,
             .bytes = static_cast<std::int64_t>(entry.value.size()),
             .block = entry.block};
  });
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    if (places_[t].bytes < 0)
      fail(tensors_[t].name, "no elements", "expected a value for every name");
}

void TensorflowCheckpoint::read(std::size_t tensor, std::span<std::byte> buffer,
                                const Take& take) const {
  expect(buffer.size() >= 8, "reading needs a buffer");
  if (!shards_.empty()) return read_shard(tensor, buffer, take);
  try {
    read_slice(tensor, buffer, take);
  } catch (const DataError& error) {
    if (!error.complaint().where.starts_with("byte ")) throw;
    fail(tensors_[tensor].name, error.complaint().got, error.complaint().expected);
  }
}

void TensorflowCheckpoint::read_shard(std::size_t tensor, std::span<std::byte> buffer,
                                      const Take& take) const {
  const Place& place = places_[tensor];
  std::uint32_t checksum = 0;
  for (std::int64_t done = 0; done < place.bytes;) {
    const auto piece =
        buffer.first(std::min(static_cast<std::size_t>(place.bytes - done), buffer.size() / 8 * 8));
    shards_[place.shard].read_at(place.offset + done, piece);
    checksum = crc32c(piece, checksum);
    take(piece);
    done += static_cast<std::int64_t>(piece.size());
  }
  if (mask_crc32c(checksum) != place.checksum)
    fail(tensors_[tensor].name, "bytes that do not match their checksum",
         "expected undamaged files");
}

void TensorflowCheckpoint::read_slice(std::size_t tensor, std::span<std::byte> buffer,
                                      const Take& take) const {
  const Place& place = places_[tensor];
  TableBlock block;
  table_.load(place.block, block);
  const std::optional<SavedSlice> slice = find_saved_slice(block.bytes().subspan(
      static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.bytes)));
  if (!slice) fail(tensors_[tensor].name, "a file that has changed", "expected the one opened");
  const auto room = buffer.size() / 8 * 8;
  if (!slice->is_varint) {
    for (std::span<const std::byte> left = slice->elements; !left.empty();) {
      const auto piece = left.first(std::min(left.size(), room));
      std::memcpy(buffer.data(), piece.data(), piece.size());
      take(buffer.first(piece.size()));
      left = left.subspan(piece.size());
    }
    return;
  }
  const auto width = static_cast<std::size_t>(size_of(tensors_[tensor].type));
  ProtoReader values(slice->elements);
  std::size_t filled = 0;
  for (std::int64_t left = tensors_[tensor].bytes(); left > 0;
       left -= static_cast<std::int64_t>(width)) {
    if (values.at_end()) fail(tensors_[tensor].name, "too few elements", "expected all of them");
    const std::uint64_t value = values.varint();
    std::memcpy(buffer.data() + filled, &value, width);
    filled += width;
    if (filled == room || left == static_cast<std::int64_t>(width)) {
      take(buffer.first(filled));
      filled = 0;
    }
  }
}

void TensorflowCheckpoint::fail(std::string_view tensor, std::string got,
                                std::string expected) const {
  constexpr std::size_t kShown = 200;
  std::string where = table_.file().path.string();
  if (!tensor.empty()) where += ": tensor '" + std::string(tensor.substr(0, kShown)) + "'";
  throw DataError({.where = std::move(where),
                   .got = std::move(got),
                   .expected = std::move(expected),
                   .hint = {}});
}

}  // namespace plimsoll
