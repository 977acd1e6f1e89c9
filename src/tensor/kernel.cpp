#include "tensor/kernel.h"

#include "tensor/through_f32.h"

namespace plimsoll {

Job::~Job() = default;

std::unique_ptr<Job> prepare(const Kernel& kernel, const Call& call) {
  bool is_short = false;
  for (const std::span<const Operand> operands : {call.in, call.out})
    for (const Operand& operand : operands) {
      if ((operand.spec.dtype == DType::f64 && !kernel.traits.f64) ||
          (!operand.dense && !kernel.traits.slices))
        return nullptr;
      is_short = is_short || operand.spec.dtype == DType::bf16;
    }
  if (!is_short || kernel.traits.bf16 == TakesBf16::yes) return kernel.make(call);
  return kernel.traits.bf16 == TakesBf16::as_f32 ? make_through_f32(kernel, call) : nullptr;
}

}  // namespace plimsoll
