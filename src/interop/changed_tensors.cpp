#include "interop/changed_tensors.h"

#include "base/error.h"
#include "interop/elements.h"

namespace plimsoll::interop {

void ChangedTensors::leave_out_rows(std::size_t tensor, std::int64_t period) {
  std::vector<std::int64_t>& shape = tensors_[tensor].shape;
  expect(!shape.empty() && period > 1 && shape[0] % period == 0, "rows that the period divides");
  shape[0] -= shape[0] / period;
  periods_[tensor] = period;
}

void ChangedTensors::combine(std::size_t tensor, std::size_t other, Make make) {
  tensors_[tensor].type = ElementType::f32;
  combined_[tensor] = {other, std::move(make)};
}

std::vector<float> ChangedTensors::read_whole(std::size_t tensor,
                                              std::span<std::byte> buffer) const {
  const StoredTensor& stored = file_->tensors()[tensor];
  std::vector<float> whole;
  std::vector<float> values;
  file_->read(tensor, buffer, [&](std::span<const std::byte> piece) {
    if (!to_floats(stored.type, piece, values))
      throw DataError({.where = "tensor '" + stored.name + "'",
                       .got = to_string(stored),
                       .expected = "expected F32, F16, BF16 or F64"});
    whole.insert(whole.end(), values.begin(), values.end());
  });
  return whole;
}

void ChangedTensors::read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const {
  if (const auto change = combined_.find(tensor); change != combined_.end()) {
    std::vector<float> whole = read_whole(tensor, buffer);
    const std::vector<float> others = read_whole(change->second.other, buffer);
    for (std::size_t i = 0; i < whole.size() && i < others.size(); ++i)
      whole[i] = change->second.make(whole[i], others[i]);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(whole));
    for (std::size_t first = 0; first < bytes.size(); first += buffer.size())
      take(bytes.subspan(first, std::min(buffer.size(), bytes.size() - first)));
    return;
  }
  const auto change = periods_.find(tensor);
  if (change == periods_.end()) return file_->read(tensor, buffer, take);
  const StoredTensor& stored = file_->tensors()[tensor];
  const auto element = static_cast<std::int64_t>(size_of(stored.type));
  const std::int64_t row = stored.bytes() / stored.shape[0];
  std::int64_t at = 0;  // bytes that were read
  std::vector<std::byte> kept;
  file_->read(tensor, buffer, [&](std::span<const std::byte> piece) {
    kept.clear();
    for (std::size_t i = 0; i < piece.size(); i += static_cast<std::size_t>(element)) {
      if (at / row % change->second != 0)
        kept.insert(kept.end(), piece.begin() + static_cast<std::ptrdiff_t>(i),
                    piece.begin() + static_cast<std::ptrdiff_t>(i) + element);
      at += element;
    }
    if (!kept.empty()) take(kept);
  });
}

}  // namespace plimsoll::interop
