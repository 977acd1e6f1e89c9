// What a kernel promises. A kernel knows specs, attributes and bytes; it knows no graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/bf16.h"
#include "base/isa.h"
#include "tensor/attrs.h"
#include "tensor/view.h"

namespace plimsoll {

// One operand as far as it is known before any memory exists.
struct Operand {
  Spec spec;
  bool dense =
      true;  // false: images may lie further apart than the spec says (a slice of a concat)
};

// Channels of a block, where kernels use these instructions: what one register holds in f32.
constexpr std::int64_t lanes_of(Isa isa) { return isa == Isa::avx2 ? kNarrowLanes : kWideLanes; }

// Where kernels run.
struct Environment {
  int threads = 1;  // of the OpenMP team that a job is run by, or fewer
  Isa isa = Isa::avx2;
  bool halves_avx512 = false;  // see base/cpu.h
};

// One call of an op, made ready before step 1.
struct Call {
  const Attrs& attrs;
  std::span<const Operand> in;
  std::span<const Operand> out;
  Environment environment;
};

// The bytes of one execution. An optional input that is absent is not in the list: an op's
// attributes say which inputs it has. In-place: an output's data may equal an input's where the op
// permits it.
struct Args {
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* scratch = nullptr;  // Job::scratch() bytes, 64-byte aligned, contents undefined
  std::byte* packed =
      nullptr;  // where the 16-bit form of in[0] is to be written too; see KernelTraits
};

// One kernel made ready for one call. Immutable while it runs, except for handles of libraries: a
// Job is run by one thread at a time (it may use the OpenMP team inside).
class Job {
 public:
  // Not inline: one file tells what a Job is, for all variants of the kernels.
  virtual ~Job();
  // Exact, in bytes; the memory lives only while run() runs.
  virtual std::int64_t scratch() const { return 0; }
  // The share of the op's nominal arithmetic that this takes: fast algorithms do less. For prices
  // only.
  virtual double arithmetic() const { return 1; }
  // Slow preparations that only execution needs (JIT). Called once, before the first run().
  virtual void compile() {}
  // No allocation, no throw, no lock. The same bits for the same inputs and thread count, wherever
  // the buffers lie and whatever scratch held.
  virtual void run(const Args& args) noexcept = 0;
};

// What a kernel does about operands in bf16.
enum class TakesBf16 : std::uint8_t {
  no,
  as_f32,  // it is given copies in scratch: for what is small or seldom
  yes,
};

// What a kernel is like, whatever the call.
struct KernelTraits {
  bool slices = true;  // takes operands that are not dense
  bool f64 = false;    // takes real numbers of 64 bits
  TakesBf16 bf16 = TakesBf16::no;
  bool shortens = false;  // beside images in bf16 it rounds weights to bf16 too
  bool packs = false;     // writes Args::packed when asked to
  bool compiles = false;  // its jobs make machine code for their shape
};
inline constexpr KernelTraits kAnyReal{.f64 = true, .bf16 = TakesBf16::as_f32};
inline constexpr KernelTraits kAnyElement{.f64 = true, .bf16 = TakesBf16::yes};
inline constexpr KernelTraits kShort{.bf16 = TakesBf16::yes};
inline constexpr KernelTraits kDense{.slices = false};

struct Kernel {
  std::string_view name;                      // shown in plans and tables: "onednn", "simd", "ref"
  std::unique_ptr<Job> (*make)(const Call&);  // null: cannot do this call; see prepare()
  KernelTraits traits = {};
};

// A job for the call, or null if the kernel cannot do it.
std::unique_ptr<Job> prepare(const Kernel& kernel, const Call& call);

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

// Calls body(T{}) with T = float or double, whichever `dtype` is: reference kernels serve both.
template <class Body>
void for_real(DType dtype, Body body) {
  if (dtype == DType::f64)
    body(double{});
  else
    body(float{});
}

// The same for kernels that also read and write bf16 themselves; they compute in Wide<T>.
template <class Body>
void for_element(DType dtype, Body body) {
  if (dtype == DType::bf16)
    body(Bf16{});
  else
    for_real(dtype, body);
}

// Calls body.template operator()<lanes>() with those of a blocked tensor, so that loops over them
// have constant bounds.
template <class Body>
void with_lanes(const Spec& image, Body body) {
  if (image.lanes == kWideLanes)
    body.template operator()<kWideLanes>();
  else
    body.template operator()<kNarrowLanes>();
}

}  // namespace plimsoll
