#include "format/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"

namespace plimsoll {
namespace {

using Kind = PickleValue::Kind;

// 0x1950a86a20f9469cfc6c, as a pickle writes it.
constexpr std::string_view kTorchMagic = "\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19";
constexpr std::int64_t kOldProtocol = 1001;
constexpr Bytes kMaxPickle = 64_MiB;
constexpr Bytes kMaxNote = 1_KiB;

// The pickles that the old form begins with.
class PickleSequence {
 public:
  PickleSequence(std::span<const std::byte> bytes, const std::filesystem::path& path)
      : bytes_(bytes), path_(path) {}

  Pickle next() {
    Pickle pickle = parse_pickle(
        bytes_.subspan(at_),
        {.where = path_.string(), .first_byte = position(), .names = state_dict_names()});
    at_ += pickle.size;
    return pickle;
  }
  std::int64_t position() const { return static_cast<std::int64_t>(at_); }

 private:
  std::span<const std::byte> bytes_;
  const std::filesystem::path& path_;
  std::size_t at_ = 0;
};

[[noreturn]] void fail(const std::filesystem::path& path, std::string got, std::string expected,
                       std::string hint = "") {
  throw DataError({.where = path.string(),
                   .got = std::move(got),
                   .expected = std::move(expected),
                   .hint = std::move(hint)});
}

void check_little_endian(const Pickle& about, const std::filesystem::path& path) {
  const std::vector<PickleId>& items = about.top().items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (about[items[i]].text == "little_endian" && about[items[i + 1]].kind == Kind::boolean &&
        about[items[i + 1]].integer == 0)
      fail(path, "numbers of a big-endian machine", "expected little-endian ones");
}

bool is_contiguous(const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& strides) {
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

// Whether all elements of a view lie among `elements`, and are no more than those: a stride of 0
// would make any number of one.
bool fits(const TorchTensor& tensor, std::int64_t elements) {
  const std::vector<std::int64_t>& shape = tensor.stored.shape;
  std::int64_t count = 1;
  std::int64_t last = tensor.offset;
  for (const std::int64_t dim : shape) count *= dim;
  if (count == 0) return tensor.offset <= elements;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, tensor.strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return false;
  }
  return last < elements && count <= elements;
}

// "archive/data.pkl"; other pickles there are code of TorchScript.
const ZipEntry* find_pickle(const ZipReader& archive) {
  for (const ZipEntry& entry : archive.entries())
    if (entry.name.ends_with("/data.pkl") && entry.name.find('/') == entry.name.rfind('/'))
      return &entry;
  return nullptr;
}

}  // namespace

bool TorchFile::is_old_form(std::string_view head) {
  return head.size() > kTorchMagic.size() && static_cast<std::uint8_t>(head[0]) == 0x80 &&
         head.substr(0, 32).find(kTorchMagic) != std::string_view::npos;
}

bool TorchFile::is_archive(const ZipReader& archive) { return find_pickle(archive) != nullptr; }

TorchFile::TorchFile(const std::filesystem::path& path) : file_(open_input(path)) {
  std::array<char, 64> head{};
  const auto size = static_cast<std::size_t>(std::min<std::int64_t>(file_.size.count, 64));
  file_.read_at(0, std::as_writable_bytes(std::span(head).first(size)));
  const std::string_view begin(head.data(), size);
  is_archive_ = begin.starts_with("PK");
  if (!is_archive_ && !is_old_form(begin))
    fail(path, "a file of another kind", "expected what torch.save writes");
  std::vector<Range> ranges;
  StateDict content = is_archive_ ? load_archive(ranges) : load_old_form(ranges);
  place(std::move(content), ranges);
}

StateDict TorchFile::load_old_form(std::vector<Range>& ranges) const {
  const MappedFile mapped(file_);
  PickleSequence pickles(mapped.bytes(), file_.path);
  if (const Pickle magic = pickles.next(); magic.top().text != kTorchMagic)
    fail(file_.path, "a pickle of another kind", "expected what torch.save writes");
  if (const Pickle protocol = pickles.next(); protocol.top().integer != kOldProtocol)
    fail(file_.path, "version " + std::to_string(protocol.top().integer), "expected 1001");
  check_little_endian(pickles.next(), file_.path);
  StateDict content = read_state_dict(pickles.next(), file_.path.string());
  const Pickle keys = pickles.next();

  std::map<std::string_view, std::size_t> storage_of;
  for (std::size_t s = 0; s < content.storages.size(); ++s) storage_of[content.storages[s].key] = s;
  ranges.resize(content.storages.size(), {.begin = -1});
  std::int64_t at = pickles.position();
  for (const PickleId id : keys.top().items) {
    const auto found = storage_of.find(keys[id].text);
    if (found == storage_of.end())
      fail(file_.path, "a storage of no tensor", "expected those that tensors name");
    Range& range = ranges[found->second];
    const std::int64_t size = size_of(content.storages[found->second].type);
    std::int64_t count = -1;
    const std::int64_t room = file_.size.count - at - 8;
    if (room >= 0) std::memcpy(&count, mapped.bytes().data() + at, sizeof count);
    if (count < 0 || count > room / size || range.begin >= 0)
      fail(file_.path,
           "byte " + std::to_string(at) + ": a storage of " + std::to_string(count) +
               " elements where " + std::to_string(std::max<std::int64_t>(room, 0)) +
               " bytes are left",
           "expected a whole file", "it is cut short, or damaged");
    range = {.begin = at + 8, .bytes = count * size};
    at += 8 + range.bytes;
  }
  return content;
}

StateDict TorchFile::load_archive(std::vector<Range>& ranges) const {
  const ZipReader archive(file_.path);
  const ZipEntry* pickle = find_pickle(archive);
  if (pickle == nullptr)
    fail(file_.path, "an archive without data.pkl", "expected what torch.save writes");
  const std::string folder = pickle->name.substr(0, pickle->name.rfind('/') + 1);
  if (const ZipEntry* order = archive.find(folder + "byteorder"))
    if (archive.read(*order, kMaxNote) != "little")
      fail(file_.path, "numbers of a big-endian machine", "expected little-endian ones");
  const std::string bytes = archive.read(*pickle, kMaxPickle);
  const std::string where = file_.path.string() + ": " + pickle->name;
  const Pickle parsed =
      parse_pickle(std::as_bytes(std::span(bytes)), {.where = where, .names = state_dict_names()});
  StateDict content = read_state_dict(parsed, where);
  for (const TorchStorage& storage : content.storages) {
    const ZipEntry* entry = archive.find(folder + "data/" + storage.key);
    if (entry != nullptr && !entry->is_stored)
      fail(file_.path, entry->name + " is compressed", "expected storages as they are",
           "unpack the archive and pack it without compression (zip -0)");
    // One that no tensor needs may be missing; place() refuses the others.
    ranges.push_back(entry != nullptr ? Range{entry->offset, entry->bytes} : Range{.begin = -1});
  }
  return content;
}

void TorchFile::place(StateDict content, const std::vector<Range>& ranges) {
  for (TorchTensor& tensor : content.tensors) {
    const Range& range = ranges[tensor.storage];
    const std::int64_t elements = range.bytes / size_of(tensor.stored.type);
    if (range.begin < 0 || !fits(tensor, elements))
      throw DataError({.where = file_.path.string() + ": tensor '" + tensor.stored.name + "'",
                       .got = to_string(tensor.stored) + " reaches beyond its storage of " +
                              std::to_string(std::max<std::int64_t>(elements, 0)) + " elements",
                       .expected = "expected one that lies within",
                       .hint = "the file is damaged"});
    places_.push_back({range.begin, range.bytes, tensor.offset, std::move(tensor.strides)});
    tensors_.push_back(std::move(tensor.stored));
  }
}

void TorchFile::read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const {
  const StoredTensor& stored = tensors_[tensor];
  const Place& place = places_[tensor];
  const std::int64_t width = size_of(stored.type);
  const std::int64_t bytes = stored.bytes();
  const std::int64_t room = static_cast<std::int64_t>(buffer.size()) / width * width;
  expect(room > 0, "reading needs a buffer");
  if (is_contiguous(stored.shape, place.strides)) {
    for (std::int64_t done = 0; done < bytes;) {
      const auto piece = buffer.first(static_cast<std::size_t>(std::min(bytes - done, room)));
      file_.read_at(place.storage + place.offset * width + done, piece);
      take(piece);
      done += static_cast<std::int64_t>(piece.size());
    }
    return;
  }
  const MappedFile mapped(file_, place.storage, place.bytes);
  std::vector<std::int64_t> index(stored.shape.size());
  std::int64_t at = place.offset;
  std::int64_t filled = 0;
  for (std::int64_t left = bytes; left > 0; left -= width) {
    std::memcpy(buffer.data() + filled, mapped.bytes().data() + at * width,
                static_cast<std::size_t>(width));
    filled += width;
    if (filled == room || left == width) {
      take(buffer.first(static_cast<std::size_t>(filled)));
      filled = 0;
    }
    for (std::size_t axis = index.size(); axis-- > 0;) {
      at += place.strides[axis];
      if (++index[axis] < stored.shape[axis]) break;
      at -= stored.shape[axis] * place.strides[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace plimsoll
