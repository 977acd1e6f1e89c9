#include <array>
#include <map>
#include <vector>

#include "base/error.h"
#include "interop/axes.h"
#include "interop/elements.h"
#include "interop/match.h"
#include "tensor/convert.h"

namespace plimsoll::interop {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

}  // namespace

void load(const ImportedFile& file, const std::vector<Match>& matches,
          const std::vector<NamedTensor>& weights) {
  std::map<std::string_view, const TensorView*> views;
  for (const NamedTensor& weight : weights) views[weight.name] = &weight.view;
  alignas(8) std::array<std::byte, kPieceBytes> buffer{};
  std::vector<float> values;
  for (const Match& match : matches) {
    const auto view = views.find(match.parameter);
    expect(view != views.end(), "a match with a weight that is not there");
    const StoredTensor& stored = file.tensors->tensors()[match.tensor];
    const TensorView ours = with_axes(*view->second, match.axes);
    const std::vector<int> order = order_of(match.axes, ours.spec.shape.rank());
    std::int64_t first = 0;
    file.tensors->read(match.tensor, buffer, [&](std::span<const std::byte> piece) {
      if (!to_floats(stored.type, piece, values))
        throw DataError({.where = file.path.string() + ": tensor '" + stored.name + "'",
                         .got = to_string(stored),
                         .expected = "expected F32, F16, BF16 or F64"});
      write_elements(ours, first, values, order);
      first += static_cast<std::int64_t>(values.size());
    });
    expect(first == ours.spec.shape.elements(), "a tensor is read whole");
  }
}

}  // namespace plimsoll::interop
