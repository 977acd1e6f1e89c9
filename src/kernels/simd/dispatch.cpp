// What the headers in kernels/ declare, and which variant of it runs: that of the operands' lanes.
// Sixteen of them lie in one register where the processor has AVX-512, else in two.
#include "base/cpu.h"
#include "kernels/avg_pool.h"
#include "kernels/batch_norm.h"
#include "kernels/channel_sum.h"
#include "kernels/depthwise.h"
#include "kernels/direct_convolution.h"
#include "kernels/elementwise.h"
#include "kernels/fma_peak.h"
#include "kernels/focal.h"
#include "kernels/gemm.h"
#include "kernels/global_pool.h"
#include "kernels/half.h"
#include "kernels/max_pool.h"
#include "kernels/paired_weights.h"
#include "kernels/subsample.h"
#include "kernels/tiled_convolution.h"
#include "kernels/transpose.h"
#include "kernels/upsample.h"

namespace plimsoll::kernels {
namespace {

#ifdef PLIMSOLL_EMULATE_AVX512
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif

template <class Function>
Function pick(std::int64_t lanes, Function avx2, Function avx512, Function paired) {
  static const bool wide_registers = kEmulated || has_avx512();
  if (lanes == kNarrowLanes) return avx2;
  return wide_registers ? avx512 : paired;
}

// Of the blocked operands, which all have the same; of none, those of the narrowest variant.
std::int64_t lanes_among(std::span<const TensorView> in, std::span<const TensorView> out) {
  for (const std::span<const TensorView> views : {in, out})
    for (const TensorView& view : views)
      if (view.spec.layout != Layout::plain) return view.spec.lanes;
  return kNarrowLanes;
}
std::int64_t lanes_among(const Call& call) {
  for (const std::span<const Operand> operands : {call.in, call.out})
    for (const Operand& operand : operands)
      if (operand.spec.layout != Layout::plain) return operand.spec.lanes;
  return kNarrowLanes;
}

}  // namespace

// The variants of `name`; their parameters in brackets.
#define PLIMSOLL_VARIANTS(type, name, parameters) \
  namespace avx2 {                                \
  type name parameters;                           \
  }                                               \
  namespace avx512 {                              \
  type name parameters;                           \
  }                                               \
  namespace paired {                              \
  type name parameters;                           \
  }
#define PLIMSOLL_PICK(lanes, name) pick(lanes, avx2::name, avx512::name, paired::name)

// A kernel that is a function, and one that is made ready for a call.
#define PLIMSOLL_KERNEL(name)                                                    \
  PLIMSOLL_VARIANTS(void, name, (const Attrs& attrs, const Args& args) noexcept) \
  void name(const Attrs& attrs, const Args& args) noexcept {                     \
    PLIMSOLL_PICK(lanes_among(args.in, args.out), name)(attrs, args);            \
  }
#define PLIMSOLL_JOB(name)                                          \
  PLIMSOLL_VARIANTS(std::unique_ptr<Job>, name, (const Call& call)) \
  std::unique_ptr<Job> name(const Call& call) {                     \
    return PLIMSOLL_PICK(lanes_among(call), name)(call);            \
  }

PLIMSOLL_KERNEL(activation)
PLIMSOLL_KERNEL(activation_grad)
PLIMSOLL_KERNEL(add)
PLIMSOLL_KERNEL(avg_pool)
PLIMSOLL_KERNEL(bn_apply)
PLIMSOLL_KERNEL(bn_centre)
PLIMSOLL_KERNEL(bn_depthwise)
PLIMSOLL_KERNEL(bn_depthwise_grad_kernel)
PLIMSOLL_KERNEL(bn_grad)
PLIMSOLL_KERNEL(bn_stats)
PLIMSOLL_KERNEL(channel_sum)
PLIMSOLL_KERNEL(constant_norm_grad)
PLIMSOLL_KERNEL(depthwise)
PLIMSOLL_KERNEL(depthwise_grad_input)
PLIMSOLL_KERNEL(depthwise_grad_kernel)
PLIMSOLL_KERNEL(global_pool)
PLIMSOLL_KERNEL(global_pool_grad)
PLIMSOLL_KERNEL(max_pool)
PLIMSOLL_KERNEL(max_pool_grad)
PLIMSOLL_KERNEL(upsample)
PLIMSOLL_KERNEL(upsample_grad)

PLIMSOLL_JOB(prepare_avg_pool_grad)
PLIMSOLL_JOB(prepare_direct_forward)
PLIMSOLL_JOB(prepare_direct_grad_input)
PLIMSOLL_JOB(prepare_direct_grad_kernel)
PLIMSOLL_JOB(prepare_point_grad_kernel)
PLIMSOLL_JOB(prepare_strassen_forward)
PLIMSOLL_JOB(prepare_strassen_grad_input)
PLIMSOLL_JOB(prepare_strassen_grad_kernel)
PLIMSOLL_JOB(prepare_tiled_forward)
PLIMSOLL_JOB(prepare_tiled_grad_input)
PLIMSOLL_JOB(prepare_tiled_grad_kernel)

PLIMSOLL_VARIANTS(double, focal_floats,
                  (const FocalRule& rule, const FocalBlock<float>& block) noexcept)
double focal_loss(const FocalRule& rule, const FocalBlock<float>& block) noexcept {
  return PLIMSOLL_PICK(block.lanes, focal_floats)(rule, block);
}
PLIMSOLL_VARIANTS(double, focal_shorts,
                  (const FocalRule& rule, const FocalBlock<Bf16>& block) noexcept)
double focal_loss(const FocalRule& rule, const FocalBlock<Bf16>& block) noexcept {
  return PLIMSOLL_PICK(block.lanes, focal_shorts)(rule, block);
}

PLIMSOLL_VARIANTS(void, pack_half, (const TensorView& from, std::byte* to) noexcept)
void pack_half(const TensorView& from, std::byte* to) noexcept {
  PLIMSOLL_PICK(from.spec.lanes, pack_half)(from, to);
}

PLIMSOLL_VARIANTS(void, unpack_half, (const std::byte* from, const TensorView& to) noexcept)
void unpack_half(const std::byte* from, const TensorView& to) noexcept {
  PLIMSOLL_PICK(to.spec.lanes, unpack_half)(from, to);
}

PLIMSOLL_VARIANTS(void, subsample_floats, (const Grid& grid, const float* all, float* few) noexcept)
void subsample(const Grid& grid, const float* all, float* few) noexcept {
  PLIMSOLL_PICK(grid.lanes, subsample_floats)(grid, all, few);
}
PLIMSOLL_VARIANTS(void, subsample_shorts, (const Grid& grid, const Bf16* all, float* few) noexcept)
void subsample(const Grid& grid, const Bf16* all, float* few) noexcept {
  PLIMSOLL_PICK(grid.lanes, subsample_shorts)(grid, all, few);
}
PLIMSOLL_VARIANTS(void, scatter_floats, (const Grid& grid, const float* few, float* all) noexcept)
void scatter(const Grid& grid, const float* few, float* all) noexcept {
  PLIMSOLL_PICK(grid.lanes, scatter_floats)(grid, few, all);
}
PLIMSOLL_VARIANTS(void, scatter_shorts, (const Grid& grid, const float* few, Bf16* all) noexcept)
void scatter(const Grid& grid, const float* few, Bf16* all) noexcept {
  PLIMSOLL_PICK(grid.lanes, scatter_shorts)(grid, few, all);
}

PLIMSOLL_VARIANTS(void, pair_rows,
                  (std::int64_t count, std::int64_t rows, const float* from, Bf16* to) noexcept)
void pair_rows(std::int64_t lanes, std::int64_t count, std::int64_t rows, const float* from,
               Bf16* to) noexcept {
  PLIMSOLL_PICK(lanes, pair_rows)(count, rows, from, to);
}
PLIMSOLL_VARIANTS(void, pair_columns,
                  (const BlockMatrix& blocks, const float* from, Bf16* to) noexcept)
void pair_columns(std::int64_t lanes, const BlockMatrix& blocks, const float* from,
                  Bf16* to) noexcept {
  PLIMSOLL_PICK(lanes, pair_columns)(blocks, from, to);
}

PLIMSOLL_VARIANTS(void, transpose_blocks,
                  (const BlockMatrix& blocks, const float* from, float* to) noexcept)
void transpose_blocks(std::int64_t lanes, const BlockMatrix& blocks, const float* from,
                      float* to) noexcept {
  PLIMSOLL_PICK(lanes, transpose_blocks)(blocks, from, to);
}

PLIMSOLL_VARIANTS(std::int64_t, gemm_scratch, (const GemmShape& shape) noexcept)
PLIMSOLL_VARIANTS(void, run_gemm,
                  (const GemmShape& shape, const MatrixView& a, const MatrixView& b,
                   const float* bias, float* c, std::int64_t c_row, std::byte* scratch) noexcept)
Gemm::Gemm(std::int64_t m, std::int64_t n, std::int64_t k, int threads, std::int64_t lanes)
    : shape_{m, n, k, threads}, lanes_(lanes) {}
std::int64_t Gemm::scratch() const { return PLIMSOLL_PICK(lanes_, gemm_scratch)(shape_); }
void Gemm::run(const MatrixView& a, const MatrixView& b, const float* bias, float* c,
               std::int64_t c_row, std::byte* scratch) const noexcept {
  PLIMSOLL_PICK(lanes_, run_gemm)(shape_, a, b, bias, c, c_row, scratch);
}

PLIMSOLL_VARIANTS(double, measure_fma_peak_gflops, ())
double measure_fma_peak_gflops(std::int64_t lanes) {
  return PLIMSOLL_PICK(lanes, measure_fma_peak_gflops)();
}

}  // namespace plimsoll::kernels
