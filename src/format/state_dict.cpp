#include "format/state_dict.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"

namespace plimsoll {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::size_t kMaxRank = 64;

struct StorageName {
  std::string_view name;
  ElementType type;
};
constexpr std::array kStorages = {
    StorageName{"torch.FloatStorage", ElementType::f32},
    StorageName{"torch.DoubleStorage", ElementType::f64},
    StorageName{"torch.HalfStorage", ElementType::f16},
    StorageName{"torch.BFloat16Storage", ElementType::bf16},
    StorageName{"torch.LongStorage", ElementType::i64},
    StorageName{"torch.IntStorage", ElementType::i32},
    StorageName{"torch.ShortStorage", ElementType::i16},
    StorageName{"torch.CharStorage", ElementType::i8},
    StorageName{"torch.ByteStorage", ElementType::u8},
    StorageName{"torch.BoolStorage", ElementType::boolean},
    StorageName{"torch.storage.UntypedStorage", ElementType::u8},
    StorageName{"torch.UntypedStorage", ElementType::u8},
};
// Types that a tensor over an untyped storage names itself.
constexpr std::array kStorageNames = {
    StorageName{"torch.uint16", ElementType::u16},
    StorageName{"torch.uint32", ElementType::u32},
    StorageName{"torch.uint64", ElementType::u64},
    StorageName{"torch.float8_e5m2", ElementType::f8_e5m2},
    StorageName{"torch.float8_e4m3fn", ElementType::f8_e4m3},
    StorageName{"torch.float32", ElementType::f32},
    StorageName{"torch.float64", ElementType::f64},
    StorageName{"torch.float16", ElementType::f16},
    StorageName{"torch.bfloat16", ElementType::bf16},
    StorageName{"torch.int64", ElementType::i64},
    StorageName{"torch.int32", ElementType::i32},
    StorageName{"torch.int16", ElementType::i16},
    StorageName{"torch.int8", ElementType::i8},
    StorageName{"torch.uint8", ElementType::u8},
    StorageName{"torch.bool", ElementType::boolean},
};
// Harmless as the values they are here; checkpoints have them beside their state_dict.
constexpr std::array<std::string_view, 15> kOthers = {
    kOrderedDict,
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch.Size",
    "torch.device",
    "collections.defaultdict",
    "collections.Counter",
    "argparse.Namespace",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
    "numpy.dtype",
    "_codecs.encode",
};

template <std::size_t N>
std::optional<ElementType> find_type(const std::array<StorageName, N>& rows,
                                     std::string_view name) {
  for (const StorageName& row : rows)
    if (row.name == name) return row.type;
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Pickle& pickle, const std::string& where) : pickle_(pickle), where_(where) {}

  StateDict read() {
    // Storages lie in the file in an order of their own, also those that no tensor of the
    // state_dict needs.
    for (const PickleValue& value : pickle_.values)
      if (value.kind == Kind::persistent) add_storage(value);
    const std::vector<PickleId> entries = tensor_entries();
    std::set<std::string_view> seen;
    const std::size_t prefix = common_prefix(entries);
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
      const PickleValue& key = pickle_[entries[i]];
      if (!seen.insert(key.text).second) fail(key.text, "there twice", "expected one");
      add_tensor(key.text, prefix, *find_tensor(pickle_[entries[i + 1]]));
    }
    return std::move(result_);
  }

 private:
  // Keys and values in turn; nothing if it is no dict.
  std::vector<PickleId> entries_of(const PickleValue& value) const {
    if (value.kind == Kind::dict) return value.items;
    if (!value.is_call_of(kOrderedDict)) return {};
    std::vector<PickleId> entries = value.items;
    // Python 2 gives all its entries as one argument, a list of pairs.
    const PickleValue& arguments = pickle_[value.arguments];
    if (arguments.items.size() == 1)
      for (const PickleId pair : pickle_[arguments.items[0]].items)
        if (const auto& both = pickle_[pair].items; both.size() == 2)
          entries.insert(entries.end(), both.begin(), both.end());
    if (entries.size() % 2 != 0) entries.pop_back();
    return entries;
  }

  // A tensor, or the one that a parameter is made of.
  const PickleValue* find_tensor(const PickleValue& value) const {
    if (value.is_call_of("torch._utils._rebuild_tensor") ||
        value.is_call_of("torch._utils._rebuild_tensor_v2") ||
        value.is_call_of("torch._utils._rebuild_tensor_v3"))
      return &value;
    if (!value.is_call_of("torch._utils._rebuild_parameter") &&
        !value.is_call_of("torch._utils._rebuild_parameter_with_state"))
      return nullptr;
    const PickleValue& arguments = pickle_[value.arguments];
    if (arguments.items.empty()) return nullptr;
    const PickleValue& inner = pickle_[arguments.items[0]];
    return inner.text.starts_with("torch._utils._rebuild_tensor") ? find_tensor(inner) : nullptr;
  }

  std::vector<PickleId> tensors_in(const PickleValue& dict) const {
    std::vector<PickleId> entries = entries_of(dict);
    std::vector<PickleId> kept;
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2)
      if (pickle_[entries[i]].is_text() && find_tensor(pickle_[entries[i + 1]]) != nullptr)
        kept.insert(kept.end(), {entries[i], entries[i + 1]});
    return kept;
  }

  std::vector<PickleId> tensor_entries() const {
    const std::vector<PickleId> outer = entries_of(pickle_.top());
    for (const std::string_view name :
         {"state_dict", "model_state_dict", "model_state", "model", "net", "weights"})
      for (std::size_t i = 0; i + 1 < outer.size(); i += 2)
        if (pickle_[outer[i]].is_text() && pickle_[outer[i]].text == name)
          if (auto inner = tensors_in(pickle_[outer[i + 1]]); !inner.empty()) return inner;
    std::vector<PickleId> entries = tensors_in(pickle_.top());
    if (entries.empty())
      throw DataError({.where = where_,
                       .got = "no tensors by name",
                       .expected = "expected a state_dict, or a checkpoint with one as its "
                                   "\"state_dict\" or \"model\"",
                       .hint = "write it with torch.save(model.state_dict(), ...)"});
    return entries;
  }

  std::size_t common_prefix(const std::vector<PickleId>& entries) const {
    constexpr std::string_view kParallel = "module.";
    for (std::size_t i = 0; i < entries.size(); i += 2)
      if (!pickle_[entries[i]].text.starts_with(kParallel)) return 0;
    return kParallel.size();
  }

  // ("storage", its class, key, device, elements)
  void add_storage(const PickleValue& persistent) {
    const PickleValue& about = pickle_[persistent.arguments];
    if (about.items.size() < 5 || pickle_[about.items[0]].text != "storage" ||
        !pickle_[about.items[2]].is_text())
      fail("", "a persistent id that is no storage's", "expected tensors alone");
    if (about.items.size() > 5 && pickle_[about.items[5]].kind != Kind::none)
      fail("", "a storage that is a part of another", "expected whole ones",
           "save it again with PyTorch 1.6 or later");
    const PickleValue& type = pickle_[about.items[1]];
    const std::optional<ElementType> element = find_type(kStorages, type.text);
    if (type.kind != Kind::name || !element)
      fail("", "elements of a type that is not read here", "expected floats or integers");
    const std::string_view key = pickle_[about.items[2]].text;
    const auto [at, is_new] = storage_of_.try_emplace(key, result_.storages.size());
    if (is_new)
      result_.storages.push_back({std::string(key), *element});
    else if (size_of(result_.storages[at->second].type) != size_of(*element))
      fail("", "a storage of two types", "expected one");
  }

  // (storage, offset, shape, strides, ...)
  void add_tensor(std::string_view name, std::size_t prefix, const PickleValue& call) {
    const std::vector<PickleId>& arguments = pickle_[call.arguments].items;
    if (arguments.size() < 4 || pickle_[arguments[0]].kind != Kind::persistent ||
        pickle_[arguments[1]].kind != Kind::integer)
      fail(name, "arguments that make no tensor", "expected a storage, an offset and a shape");
    const PickleValue& persistent = pickle_[arguments[0]];
    const PickleValue& about = pickle_[persistent.arguments];
    TorchTensor tensor;
    tensor.storage = storage_of_.at(pickle_[about.items[2]].text);
    tensor.stored.name = name.substr(prefix);
    tensor.stored.type = *find_type(kStorages, pickle_[about.items[1]].text);
    if (call.is_call_of("torch._utils._rebuild_tensor_v3")) {
      const std::optional<ElementType> type =
          arguments.size() > 6 ? find_type(kStorageNames, pickle_[arguments[6]].text)
                               : std::nullopt;
      if (!type) fail(name, "elements of a type that is not read here", "expected a known one");
      tensor.stored.type = *type;
    }
    tensor.offset = pickle_[arguments[1]].integer;
    tensor.stored.shape = sizes(name, pickle_[arguments[2]]);
    tensor.strides = sizes(name, pickle_[arguments[3]]);
    if (tensor.offset < 0 || tensor.strides.size() != tensor.stored.shape.size())
      fail(name, "an offset below 0, or strides for another shape", "expected a tensor");
    std::int64_t bytes = size_of(tensor.stored.type);
    for (const std::int64_t dim : tensor.stored.shape)
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes))
        fail(name, "a shape of 2^63 bytes or more", "expected one that a file can hold");
    result_.tensors.push_back(std::move(tensor));
  }

  std::vector<std::int64_t> sizes(std::string_view name, const PickleValue& value) const {
    const PickleValue* tuple = &value;
    if (value.is_call_of("torch.Size") && pickle_[value.arguments].items.size() == 1)
      tuple = &pickle_[pickle_[value.arguments].items[0]];
    std::vector<std::int64_t> sizes;
    bool is_good = tuple->kind == Kind::tuple && tuple->items.size() <= kMaxRank;
    for (std::size_t i = 0; is_good && i < tuple->items.size(); ++i) {
      const PickleValue& size = pickle_[tuple->items[i]];
      is_good = size.kind == Kind::integer && size.integer >= 0;
      sizes.push_back(size.integer);
    }
    if (!is_good) fail(name, "a shape or strides that are none", "expected sizes from 0 up");
    return sizes;
  }

  [[noreturn]] void fail(std::string_view tensor, std::string got, std::string expected,
                         std::string hint = "") const {
    constexpr std::size_t kShown = 200;
    throw DataError({.where = tensor.empty() ? where_
                                             : where_ + ": tensor '" +
                                                   std::string(tensor.substr(0, kShown)) + "'",
                     .got = std::move(got),
                     .expected = std::move(expected),
                     .hint = std::move(hint)});
  }

  const Pickle& pickle_;
  const std::string& where_;
  StateDict result_;
  std::map<std::string_view, std::size_t> storage_of_;
};

}  // namespace

std::span<const std::string_view> state_dict_names() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names(kOthers.begin(), kOthers.end());
    for (const StorageName& row : kStorages) names.push_back(row.name);
    for (const StorageName& row : kStorageNames) names.push_back(row.name);
    return names;
  }();
  return all;
}

StateDict read_state_dict(const Pickle& pickle, const std::string& where) {
  return Reader(pickle, where).read();
}

}  // namespace plimsoll
