#include "tensor/through_f32.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

constexpr std::int64_t kLine = 64;

// Calls body(short elements, their copies, how many) for pieces of memory without gaps.
template <class Body>
void over_pieces(const TensorView& view, float* copy, Body body) {
  const std::int64_t images = view.is_dense() ? 1 : view.spec.shape[0];
  const std::int64_t length = view.spec.stored_elements() / images;
  for (std::int64_t n = 0; n < images; ++n) body(view.image<Bf16>(n), copy + n * length, length);
}

class ThroughF32 final : public Job {
 public:
  ThroughF32(const Kernel& kernel, const Call& call) {
    const auto widen = [this](std::span<const Operand> operands, std::vector<Operand>& wide,
                              std::vector<TensorView>& views) {
      for (Operand operand : operands) {
        offsets_.push_back(-1);
        if (operand.spec.dtype == DType::bf16) {
          operand = {operand.spec, true};
          operand.spec.dtype = DType::f32;
          offsets_.back() = bytes_;
          bytes_ += round_up(operand.spec.bytes(), kLine);
        }
        wide.push_back(operand);
        views.push_back({nullptr, operand.spec, operand.spec.image_elements()});
      }
    };
    std::vector<Operand> in, out;
    widen(call.in, in, in_);
    widen(call.out, out, out_);
    job_ = kernel.make({call.attrs, in, out, call.environment});
  }

  bool is_possible() const { return job_ != nullptr; }
  std::int64_t scratch() const override { return bytes_ + job_->scratch(); }
  double arithmetic() const override { return job_->arithmetic(); }
  void compile() override { job_->compile(); }

  void run(const Args& args) noexcept override {
    const auto copy_of = [&](std::size_t operand) {
      return reinterpret_cast<float*>(args.scratch + offsets_[operand]);
    };
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (offsets_[i] < 0) {
        in_[i] = args.in[i];
        continue;
      }
      in_[i].data = args.scratch + offsets_[i];
      over_pieces(args.in[i], copy_of(i), [](const Bf16* from, float* to, std::int64_t count) {
#pragma omp parallel for simd
        for (std::int64_t e = 0; e < count; ++e) to[e] = from[e];
      });
    }
    for (std::size_t o = 0; o < out_.size(); ++o) {
      if (offsets_[in_.size() + o] < 0) {
        out_[o] = args.out[o];
        continue;
      }
      out_[o].data = args.scratch + offsets_[in_.size() + o];
      // What lies in place of an input does so here.
      for (std::size_t i = 0; i < in_.size(); ++i)
        if (offsets_[i] >= 0 && args.in[i].data == args.out[o].data) out_[o].data = in_[i].data;
    }
    job_->run({in_, out_, args.scratch + bytes_, nullptr});
    for (std::size_t o = 0; o < out_.size(); ++o)
      if (offsets_[in_.size() + o] >= 0)
        over_pieces(args.out[o], out_[o].as<float>(),
                    [](Bf16* to, const float* from, std::int64_t count) {
#pragma omp parallel for simd
                      for (std::int64_t e = 0; e < count; ++e) to[e] = from[e];
                    });
  }

 private:
  std::unique_ptr<Job> job_;
  std::vector<TensorView> in_, out_;   // what the job is given
  std::vector<std::int64_t> offsets_;  // of the copies of inputs, then outputs; -1: there is none
  std::int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Job> make_through_f32(const Kernel& kernel, const Call& call) {
  auto job = std::make_unique<ThroughF32>(kernel, call);
  return job->is_possible() ? std::move(job) : nullptr;
}

}  // namespace plimsoll
