// What a kernel promises. A kernel knows specs, attributes and bytes; it knows no graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tensor/attrs.h"
#include "tensor/view.h"

namespace plimsoll {

// One operand as far as it is known before any memory exists.
struct Operand {
  Spec spec;
  bool dense =
      true;  // false: images may lie further apart than the spec says (a slice of a concat)
};

// One call of an op, made ready before step 1.
struct Call {
  const Attrs& attrs;
  std::span<const Operand> in;
  std::span<const Operand> out;
};

// The bytes of one execution. An optional input that is absent is not in the list: an op's
// attributes say which inputs it has. In-place: an output's data may equal an input's where the op
// permits it.
struct Args {
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* scratch = nullptr;  // Job::scratch() bytes, 64-byte aligned, contents undefined
  std::byte* packed = nullptr;   // where the 16-bit form of in[0] is to be written too; see OpDef
};

// One kernel made ready for one call. Immutable while it runs, except for handles of libraries: a
// Job is run by one thread at a time (it may use the OpenMP team inside).
class Job {
 public:
  virtual ~Job() = default;
  // Exact, in bytes; the memory lives only while run() runs.
  virtual std::int64_t scratch() const { return 0; }
  // Slow preparations that only execution needs (JIT). Called once, before the first run().
  virtual void make_ready() {}
  // No allocation, no throw, no lock. The same bits for the same inputs and thread count, wherever
  // the buffers lie and whatever scratch held.
  virtual void run(const Args& args) noexcept = 0;
};

struct Kernel {
  std::string_view name;  // shown in plans and tables: "onednn", "avx2", "ref"
  std::unique_ptr<Job> (*prepare)(const Call&);  // null: cannot do this call
};

// A kernel that is a plain function without scratch.
template <void (*function)(const Attrs&, const Args&) noexcept>
std::unique_ptr<Job> plain_job(const Call& call) {
  class PlainJob final : public Job {
   public:
    explicit PlainJob(const Attrs& attrs) : attrs_(attrs) {}
    void run(const Args& args) noexcept override { function(attrs_, args); }

   private:
    Attrs attrs_;
  };
  return std::make_unique<PlainJob>(call.attrs);
}

// The same, for kernels that compute in f32 only.
template <void (*function)(const Attrs&, const Args&) noexcept>
std::unique_ptr<Job> f32_job(const Call& call) {
  for (const Operand& operand : call.in)
    if (operand.spec.dtype == DType::f64) return nullptr;
  for (const Operand& operand : call.out)
    if (operand.spec.dtype == DType::f64) return nullptr;
  return plain_job<function>(call);
}

// Calls body(T{}) with T = float or double, whichever `dtype` is: reference kernels serve both.
template <class Body>
void for_real(DType dtype, Body body) {
  if (dtype == DType::f64)
    body(double{});
  else
    body(float{});
}

}  // namespace plimsoll
