// Any bytes read as a pickle and as a state_dict: a DataError or consistent values, nothing else.
#include "format/pickle.h"

#include "base/error.h"
#include "format/state_dict.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const plimsoll::Pickle pickle =
        plimsoll::parse_pickle(bytes, {.where = "x", .names = plimsoll::state_dict_names()});
    plimsoll::expect(pickle.size <= size, "a pickle lies within its bytes");
    std::size_t items = 0;
    for (const plimsoll::PickleValue& value : pickle.values) {
      items += value.items.size();
      for (const plimsoll::PickleId id : value.items)
        plimsoll::expect(id < pickle.values.size(), "items are values");
    }
    plimsoll::expect(items <= size && pickle.values.size() <= size, "values take bytes");
    plimsoll::read_state_dict(pickle, "x");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
