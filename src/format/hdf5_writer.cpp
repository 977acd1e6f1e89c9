#include "format/hdf5_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "format/hdf5_region.h"
#include "format/little_endian.h"

namespace plimsoll {
namespace {

using namespace std::string_view_literals;

// Members of a leaf and children of a node, halved, as the superblock says them.
constexpr std::size_t kLeafHalf = 4;
constexpr std::size_t kNodeHalf = 16;
constexpr std::size_t kHeapMinimum = 4096;  // libhdf5 reads that much of a heap at once
constexpr std::size_t kHeapMost = 60000;    // texts are counted in 16 bits
constexpr std::uint64_t kNoFreeSpace = 1;

struct Member {
  std::string name;
  std::uint64_t header = 0;
  std::uint64_t name_at = 0;  // in the heap of names
};

struct GroupPlace {
  std::uint64_t header = 0;
  std::uint64_t tree = 0;
  std::uint64_t names = 0;
};

// A node of the index: where it lies and the names it lies between.
struct Branch {
  std::uint64_t address = 0;
  std::uint64_t before = 0;
  std::uint64_t last = 0;
};

void pad_to_8(std::string& bytes) { bytes.resize((bytes.size() + 7) / 8 * 8); }

void append_message(std::string& messages, std::uint64_t type, std::string body) {
  pad_to_8(body);
  expect(body.size() < 0x10000, "a message of HDF5 is below 64 KiB");
  append_little_endian(messages, type, 2);
  append_little_endian(messages, body.size(), 2);
  append_little_endian(messages, 0, 4);
  messages += body;
}

std::string space_of(const std::vector<std::int64_t>& shape) {
  std::string space("\x01", 1);
  append_little_endian(space, shape.size(), 1);
  space.resize(8);
  for (const std::int64_t dim : shape)
    append_little_endian(space, static_cast<std::uint64_t>(dim), 8);
  return space;
}

std::string_view type_of(ElementType type) {
  switch (type) {
    case ElementType::f32: return "\x11\x20\x1F\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7F\0\0\0"sv;
    case ElementType::f16: return "\x11\x20\x0F\0\x02\0\0\0\0\0\x10\0\x0A\x05\0\x0A\x0F\0\0\0"sv;
    case ElementType::i64: return "\x10\x08\0\0\x08\0\0\0\0\0\x40\0"sv;
    default: bug("a type that is not written as HDF5");
  }
}

// Text of any length, UTF-8; and what Keras gives an empty list.
constexpr std::string_view kText = "\x19\x01\x01\0\x10\0\0\0\x10\0\0\0\x01\0\0\0\0\0\x08\0"sv;
constexpr std::string_view kDouble =
    "\x11\x20\x3F\0\x08\0\0\0\0\0\x40\0\x34\x0B\0\x34\xFF\x03\0\0"sv;

class Writer {
 public:
  explicit Writer(const Hdf5NewGroup& root) {
    plan_.head.resize(96);
    collect_texts(root);
    flush_texts();
    next_text_ = 0;
    const GroupPlace place = add_group(root, "");
    pad_to_8(plan_.head);
    std::int64_t end = static_cast<std::int64_t>(plan_.head.size());
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      put(places_[t], static_cast<std::uint64_t>(end));
      end += plan_.tensors[t].bytes() + hdf5_padding(plan_.tensors[t]);
    }
    plan_.bytes = end;
    std::string block("\x89HDF\r\n\x1A\n\0\0\0\0\0\x08\x08\0"sv);
    append_little_endian(block, kLeafHalf, 2);
    append_little_endian(block, kNodeHalf, 2);
    append_little_endian(block, 0, 4);
    append_little_endian(block, 0, 8);
    append_little_endian(block, kHdf5Nowhere, 8);
    append_little_endian(block, static_cast<std::uint64_t>(end), 8);
    append_little_endian(block, kHdf5Nowhere, 8);
    append_little_endian(block, 0, 8);
    append_little_endian(block, place.header, 8);
    append_little_endian(block, 1, 8);  // what follows is known of the group
    append_little_endian(block, place.tree, 8);
    append_little_endian(block, place.names, 8);
    plan_.head.replace(0, 96, block);
  }

  Hdf5Plan take() { return std::move(plan_); }

 private:
  void put(std::size_t at, std::uint64_t value) {
    std::string bytes;
    append_little_endian(bytes, value, 8);
    plan_.head.replace(at, 8, bytes);
  }

  std::uint64_t append(std::string_view block) {
    pad_to_8(plan_.head);
    const std::uint64_t address = plan_.head.size();
    plan_.head += block;
    return address;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the caller's groups.
  void collect_texts(const Hdf5NewGroup& group) {
    for (const Hdf5NewAttribute& attribute : group.attributes)
      for (const std::string& text : attribute.texts) {
        if (heap_count_ == kHeapMost) flush_texts();
        append_little_endian(heap_, ++heap_count_, 2);
        append_little_endian(heap_, 0, 6);
        append_little_endian(heap_, text.size(), 8);
        heap_ += text;
        pad_to_8(heap_);
      }
    for (const Hdf5NewGroup& inner : group.groups) collect_texts(inner);
  }

  void flush_texts() {
    if (heap_count_ == 0) return;
    const std::size_t size = std::max(kHeapMinimum, 16 + heap_.size() + 16);
    std::string block = "GCOL";
    append_little_endian(block, 1, 4);
    append_little_endian(block, size, 8);
    block += heap_;
    // The rest is free, and says so.
    append_little_endian(block, 0, 8);
    append_little_endian(block, size - 16 - heap_.size(), 8);
    block.resize(size);
    const std::uint64_t address = append(block);
    for (std::size_t i = 1; i <= heap_count_; ++i) texts_.emplace_back(address, i);
    heap_.clear();
    heap_count_ = 0;
  }

  std::string attribute(const Hdf5NewAttribute& attribute) {
    const bool is_empty = attribute.texts.empty();
    const std::string_view type = is_empty ? kDouble : kText;
    const bool is_scalar = !attribute.is_list && attribute.texts.size() == 1;
    const std::string space =
        space_of(is_scalar ? std::vector<std::int64_t>{}
                           : std::vector{static_cast<std::int64_t>(attribute.texts.size())});
    std::string body("\x01\0", 2);
    append_little_endian(body, attribute.name.size() + 1, 2);
    append_little_endian(body, type.size(), 2);
    append_little_endian(body, space.size(), 2);
    body += attribute.name + '\0';
    pad_to_8(body);
    body += type;
    pad_to_8(body);
    body += space;
    for (const std::string& text : attribute.texts) {
      const auto [heap, index] = texts_[next_text_++];
      append_little_endian(body, text.size(), 4);
      append_little_endian(body, heap, 8);
      append_little_endian(body, index, 4);
    }
    return body;
  }

  std::uint64_t add_header(const std::string& messages, std::size_t count) {
    std::string header("\x01\0", 2);
    append_little_endian(header, count, 2);
    append_little_endian(header, 1, 4);
    append_little_endian(header, messages.size(), 8);
    return append(header + messages);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the caller's groups.
  GroupPlace add_group(const Hdf5NewGroup& group, const std::string& path) {
    // Texts were laid down in this order: a group's own before those of groups inside.
    std::string attributes;
    for (const Hdf5NewAttribute& one : group.attributes)
      append_message(attributes, 0x0C, attribute(one));
    std::vector<Member> members;
    for (const Hdf5NewGroup& inner : group.groups)
      members.push_back({inner.name, add_group(inner, path + inner.name + "/").header});
    for (const StoredTensor& dataset : group.datasets)
      members.push_back({dataset.name, add_dataset(dataset, path)});
    std::ranges::sort(members, {}, &Member::name);
    const std::uint64_t names = add_names(members);
    const std::uint64_t tree = add_tree(members);
    std::string table;
    append_little_endian(table, tree, 8);
    append_little_endian(table, names, 8);
    std::string messages;
    append_message(messages, 0x11, table);
    return {add_header(messages + attributes, 1 + group.attributes.size()), tree, names};
  }

  std::uint64_t add_dataset(const StoredTensor& dataset, const std::string& path) {
    std::string messages;
    append_message(messages, 0x01, space_of(dataset.shape));
    append_message(messages, 0x03, std::string(type_of(dataset.type)));
    append_message(messages, 0x05, std::string("\x02\x02\x02\x01\0\0\0\0"sv));
    std::string layout("\x03\x01", 2);
    append_little_endian(layout, 0, 8);  // where its bytes will be
    append_little_endian(layout, static_cast<std::uint64_t>(dataset.bytes()), 8);
    append_message(messages, 0x08, layout);
    const std::uint64_t header = add_header(messages, 4);
    const std::size_t layout_body = plan_.head.size() - 24;
    places_.push_back(layout_body + 2);
    plan_.tensors.push_back(dataset);
    plan_.tensors.back().name = path + dataset.name;
    return header;
  }

  std::uint64_t add_names(std::vector<Member>& members) {
    std::string names(8, '\0');
    for (Member& member : members) {
      member.name_at = names.size();
      names += member.name + '\0';
      pad_to_8(names);
    }
    const std::uint64_t address = append(names);
    std::string heap("HEAP\0\0\0\0"sv);
    append_little_endian(heap, names.size(), 8);
    append_little_endian(heap, kNoFreeSpace, 8);
    append_little_endian(heap, address, 8);
    return append(heap);
  }

  std::uint64_t add_tree(const std::vector<Member>& members) {
    std::vector<Branch> branches;
    std::uint64_t before = 0;
    for (std::size_t first = 0; first < members.size(); first += 2 * kLeafHalf) {
      const std::size_t count = std::min(2 * kLeafHalf, members.size() - first);
      std::string leaf("SNOD\x01\0"sv);
      append_little_endian(leaf, count, 2);
      for (std::size_t i = first; i < first + count; ++i) {
        append_little_endian(leaf, members[i].name_at, 8);
        append_little_endian(leaf, members[i].header, 8);
        leaf.resize(leaf.size() + 24);
      }
      leaf.resize(8 + 2 * kLeafHalf * 40);
      const std::uint64_t last = members[first + count - 1].name_at;
      branches.push_back({append(leaf), before, last});
      before = last;
    }
    for (std::uint64_t level = 0;; ++level) {
      branches = add_level(branches, level);
      if (branches.size() == 1) return branches[0].address;
    }
  }

  std::vector<Branch> add_level(const std::vector<Branch>& children, std::uint64_t level) {
    constexpr std::size_t kChildren = 2 * kNodeHalf;
    constexpr std::size_t kNodeBytes = 24 + kChildren * 16 + 8;
    std::vector<Branch> nodes;
    pad_to_8(plan_.head);
    const std::uint64_t start = plan_.head.size();
    // A group without members has a node without children.
    const std::size_t count =
        std::max<std::size_t>(1, (children.size() + kChildren - 1) / kChildren);
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t first = n * kChildren;
      const std::size_t used = std::min(kChildren, children.size() - first);
      std::string node("TREE\0"sv);
      append_little_endian(node, level, 1);
      append_little_endian(node, used, 2);
      append_little_endian(node, n > 0 ? start + (n - 1) * kNodeBytes : kHdf5Nowhere, 8);
      append_little_endian(node, n + 1 < count ? start + (n + 1) * kNodeBytes : kHdf5Nowhere, 8);
      for (std::size_t i = first; i < first + used; ++i) {
        append_little_endian(node, children[i].before, 8);
        append_little_endian(node, children[i].address, 8);
      }
      if (used > 0) append_little_endian(node, children[first + used - 1].last, 8);
      node.resize(kNodeBytes);
      const std::uint64_t address = append(node);
      nodes.push_back(
          used == 0 ? Branch{address, 0, 0}
                    : Branch{address, children[first].before, children[first + used - 1].last});
    }
    return nodes;
  }

  Hdf5Plan plan_;
  std::vector<std::size_t> places_;  // in the head, of the address of each tensor's bytes
  std::string heap_;                 // of texts, the one that is being filled
  std::size_t heap_count_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> texts_;  // heap and index of each
  std::size_t next_text_ = 0;
};

}  // namespace

Hdf5NewGroup& Hdf5NewGroup::group(std::string_view path) {
  Hdf5NewGroup* at = this;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    auto found = std::ranges::find(at->groups, step, &Hdf5NewGroup::name);
    if (found == at->groups.end())
      found = at->groups.insert(found, Hdf5NewGroup{.name = std::string(step)});
    at = &*found;
  }
  return *at;
}

std::int64_t hdf5_padding(const StoredTensor& tensor) { return (8 - tensor.bytes() % 8) % 8; }

Hdf5Plan plan_hdf5(const Hdf5NewGroup& root) { return Writer(root).take(); }

}  // namespace plimsoll
