#include "format/hdf5_tree.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "format/little_endian.h"

namespace plimsoll {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kAnyLevel = -1;
constexpr std::size_t kMaxName = 1024;
constexpr std::uint64_t kSoftLink = 2;

enum MessageType : std::uint64_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0B,
  kAttribute = 0x0C,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};

// Null if a header has none.
const Hdf5Message* find(const std::vector<Hdf5Message>& messages, MessageType type) {
  for (const Hdf5Message& message : messages)
    if (message.type == type) return &message;
  return nullptr;
}

std::string in_quotes(std::string_view path) { return "'" + std::string(path) + "'"; }

}  // namespace

Hdf5Tree::Hdf5Tree(Hdf5Region& region, std::vector<StoredTensor>& tensors,
                   std::vector<std::int64_t>& offsets)
    : region_(region),
      decoder_(region),
      tensors_(tensors),
      offsets_(offsets),
      data_left_(static_cast<std::uint64_t>(region.length())) {}

Hdf5Object Hdf5Tree::root() {
  using namespace std::string_view_literals;
  constexpr std::uint64_t kSuperblock = 96;
  if (region_.length() < 9 || region_.read(0, 8, "a signature") != "\x89HDF\r\n\x1A\n"sv)
    region_.refuse(0, "no signature of HDF5", "expected an HDF5 file", "");
  const std::uint64_t version = little_endian(region_.read(8, 1, "a version"), 0, 1);
  if (version != 0) region_.refuse_unread(8, "a superblock of version " + std::to_string(version));
  const std::string block = region_.read(0, kSuperblock, "a superblock");
  if (little_endian(block, 13, 1) != 8 || little_endian(block, 14, 1) != 8)
    region_.refuse_unread(13, "addresses that are not of 8 bytes");
  if (little_endian(block, 24, 8) != 0)
    region_.refuse_unread(24, "addresses that do not count from the file's begin");
  const std::uint64_t end = little_endian(block, 40, 8);
  if (!region_.holds(end, 0))
    region_.refuse(40, "a file of " + std::to_string(region_.length()) + " bytes",
                   "expected " + std::to_string(end), "it is cut short: fetch it again");
  Hdf5Object root = object({"", little_endian(block, 64, 8)}, "", 0);
  if (!root.is_group) region_.refuse(64, "a root that is no group", "expected a group");
  return root;
}

Hdf5Object Hdf5Tree::object(const Link& link, const std::string& path, int depth) {
  if (depth > kMaxDepth)
    region_.refuse(link.address, "groups more than " + std::to_string(kMaxDepth) + " deep",
                   "expected a file that Keras wrote", "");
  if (!seen_.insert(link.address).second)
    region_.refuse(link.address, in_quotes(path) + " is a second name of an object, or a cycle",
                   "expected every object once", "save it without hard links");
  region_.spend(path.size());
  Hdf5Object object{.name = link.name, .address = static_cast<std::int64_t>(link.address)};
  const std::vector<Hdf5Message> messages = decoder_.messages(link.address);
  for (const Hdf5Message& message : messages) {
    if (message.type == kAttribute) object.attributes.push_back(decoder_.attribute(message));
    if (message.type == kLinkInfo || message.type == kLink || message.type == kAttributeInfo)
      region_.refuse_unread(message.address, in_quotes(path) + " is a group of the newer format");
  }
  const Hdf5Message* table = find(messages, kSymbolTable);
  object.is_group = table != nullptr;
  if (!object.is_group) {
    add_dataset(object, messages, path);
    return object;
  }
  std::vector<Link> links = this->links(*table);
  std::ranges::sort(links, {}, &Link::name);
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (i > 0 && links[i].name == links[i - 1].name)
      region_.refuse(links[i].address,
                     "a second " + in_quotes(links[i].name) + " in " + in_quotes(path),
                     "expected every name once");
    object.members.push_back(this->object(
        links[i], path.empty() ? links[i].name : path + "/" + links[i].name, depth + 1));
  }
  return object;
}

std::vector<Hdf5Tree::Link> Hdf5Tree::links(const Hdf5Message& table) {
  if (table.bytes.size() < 16)
    region_.refuse(table.address, "a group that is cut short", "expected two addresses");
  const std::uint64_t tree = little_endian(table.bytes, 0, 8);
  const std::uint64_t heap = little_endian(table.bytes, 8, 8);
  const std::string head = region_.read(heap, 32, "names of a group");
  if (!head.starts_with("HEAP"))
    region_.refuse(heap, "no names of a group", "expected a local heap");
  const std::string names =
      region_.read(little_endian(head, 24, 8), little_endian(head, 8, 8), "names of a group");
  std::vector<Link> found;
  add_links(tree, kAnyLevel, names, found);
  return found;
}

// NOLINTNEXTLINE(misc-no-recursion): every step down has a lower level.
void Hdf5Tree::add_links(std::uint64_t node, int level, std::string_view names,
                         std::vector<Link>& found) {
  const std::string head = region_.read(node, 24, "an index of a group");
  const int said = static_cast<int>(little_endian(head, 5, 1));
  if (!head.starts_with("TREE") || head[4] != 0 || (level != kAnyLevel && said != level))
    region_.refuse(node, "no index of a group", "expected a B-tree of version 1");
  const std::uint64_t used = little_endian(head, 6, 2);
  // A key before each child, and one behind the last.
  const std::string children = region_.read(node + 24, 16 * used, "an index of a group");
  for (std::uint64_t i = 0; i < used; ++i) {
    const std::uint64_t child = little_endian(children, 16 * i + 8, 8);
    if (said > 0)
      add_links(child, said - 1, names, found);
    else
      add_leaf(child, names, found);
  }
}

void Hdf5Tree::add_leaf(std::uint64_t leaf, std::string_view names, std::vector<Link>& found) {
  const std::string head = region_.read(leaf, 8, "members of a group");
  if (!head.starts_with("SNOD"))
    region_.refuse(leaf, "no members of a group", "expected a symbol table node");
  const std::uint64_t count = little_endian(head, 6, 2);
  const std::string entries = region_.read(leaf + 8, 40 * count, "members of a group");
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t place = leaf + 8 + 40 * i;
    const std::uint64_t name_at = little_endian(entries, 40 * i, 8);
    const std::size_t end =
        name_at < names.size() ? names.find('\0', name_at) : std::string_view::npos;
    if (end == std::string_view::npos || end == name_at || end - name_at > kMaxName ||
        names.substr(name_at, end - name_at).find('/') != std::string_view::npos)
      region_.refuse(place, "a member without a good name", "expected one of 1 to 1024 bytes");
    std::string name(names.substr(name_at, end - name_at));
    if (little_endian(entries, 40 * i + 16, 4) == kSoftLink)
      region_.refuse_unread(place, in_quotes(name) + " is a soft link");
    region_.spend(name.size());
    found.push_back({std::move(name), little_endian(entries, 40 * i + 8, 8)});
  }
}

void Hdf5Tree::add_dataset(Hdf5Object& object, const std::vector<Hdf5Message>& messages,
                           const std::string& path) {
  const Hdf5Message* type_message = find(messages, kDatatype);
  const Hdf5Message* space_message = find(messages, kDataspace);
  const Hdf5Message* layout = find(messages, kLayout);
  const auto address = static_cast<std::uint64_t>(object.address);
  if (type_message == nullptr || space_message == nullptr || layout == nullptr)
    region_.refuse(address, in_quotes(path) + " is neither a group nor a dataset",
                   "expected one of them");
  if (find(messages, kFilters) != nullptr)
    region_.refuse_unread(address, "dataset " + in_quotes(path) + " is compressed or filtered");
  if (find(messages, kExternalFiles) != nullptr)
    region_.refuse_unread(address, "dataset " + in_quotes(path) + " lies in another file");
  Hdf5Type type = decoder_.type(type_message->bytes, type_message->address);
  // Keras stores bfloat16 as bytes without a meaning and says so beside them.
  if (type.kind == Hdf5Type::Kind::opaque && type.size == 2 && object.text("dtype") == "bfloat16") {
    type.kind = Hdf5Type::Kind::number;
    type.element = ElementType::bf16;
  }
  const auto dims = decoder_.space(space_message->bytes, space_message->address);
  if (!dims || type.kind != Hdf5Type::Kind::number) return;
  StoredTensor tensor{.name = path, .type = type.element, .shape = {}};
  // Empty dimensions count as 1, so that no product of the others overflows.
  std::uint64_t most = type.size;
  std::uint64_t bytes = type.size;
  for (const std::uint64_t dim : *dims) {
    if (dim > 0 && most > data_left_ / dim)
      region_.refuse(
          space_message->address,
          "dataset " + in_quotes(path) + " is larger than the file, or with others before",
          "expected datasets of at most " + std::to_string(region_.length()) + " bytes");
    most *= std::max<std::uint64_t>(dim, 1);
    bytes *= dim;
    tensor.shape.push_back(static_cast<std::int64_t>(dim));
  }
  if (bytes > data_left_)
    region_.refuse(space_message->address, "datasets that are larger than the file",
                   "expected all of them in it");
  data_left_ -= bytes;
  offsets_.push_back(data_offset(*layout, bytes));
  object.tensor = tensors_.size();
  tensors_.push_back(std::move(tensor));
}

std::int64_t Hdf5Tree::data_offset(const Hdf5Message& layout, std::uint64_t bytes) {
  constexpr std::int64_t kNeverWritten = -1;
  const auto in_file = [&](std::uint64_t address) {
    if (!region_.holds(address, bytes))
      region_.refuse(layout.address,
                     std::to_string(bytes) + " bytes at byte " + std::to_string(address),
                     "expected them before the end, at byte " + std::to_string(region_.length()),
                     "the file is cut short or damaged");
    return region_.offset() + static_cast<std::int64_t>(address);
  };
  const std::string_view words = layout.bytes;
  const std::uint64_t version = words.empty() ? 0 : little_endian(words, 0, 1);
  if (version != 3)
    region_.refuse_unread(layout.address, "a data layout of version " + std::to_string(version));
  const std::uint64_t kind = words.size() < 2 ? 3 : little_endian(words, 1, 1);
  if (kind == 2) region_.refuse_unread(layout.address, "a chunked dataset");
  if (kind == 0 && words.size() >= 4 && words.size() - 4 >= bytes)
    return in_file(layout.address + 4);
  if (kind != 1 || words.size() < 18)
    region_.refuse(layout.address, "a data layout that is damaged", "expected a contiguous one");
  const std::uint64_t address = little_endian(words, 2, 8);
  if (address == kHdf5Nowhere || bytes == 0) return kNeverWritten;
  if (little_endian(words, 10, 8) < bytes)
    region_.refuse(layout.address, "a dataset with less room than its shape needs",
                   "expected " + std::to_string(bytes) + " bytes");
  return in_file(address);
}

}  // namespace plimsoll
