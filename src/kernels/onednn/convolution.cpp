#include "kernels/onednn/convolution.h"

#include <algorithm>
#include <optional>

#include "kernels/onednn/convolution_primitive.h"
#include "kernels/onednn/image_copies.h"
#include "kernels/paired_weights.h"
#include "kernels/transpose.h"

namespace plimsoll::kernels::onednn {
namespace {

// A convolution whose batch is worked off in equal parts, the last one perhaps smaller. What
// differs from pass to pass is how one part is run.
class PartsJob : public Job {
 public:
  std::int64_t scratch() const override { return pieces_.bytes(); }

  void compile() override {
    whole_->compile();
    if (rest_ != nullptr) rest_->compile();
  }

  // False: oneDNN has no fast code for this.
  bool prepare(std::int64_t most_bytes) {
    const ConvolutionShape shape = copies_.seen();
    const std::int64_t images = shape_.images;
    const std::int64_t largest =
        (shape.multiplies_short ? 2 : 4) * std::max(shape_.input_image(), shape_.output_image());
    std::int64_t most = most_bytes / largest;
    if (most == 0 || 4 * shape_.weights() > kMostBytes) return false;
    most = copies_.images_together(most, pass_ == Pass::grad_kernel);
    const std::int64_t parts = (images + most - 1) / most;
    part_ = (images + parts - 1) / parts;

    whole_ = make_primitive(shape, pass_, part_);
    if (whole_ == nullptr) return false;
    if (images % part_ != 0) {
      rest_ = make_primitive(shape, pass_, images % part_);
      if (rest_ == nullptr) return false;
    }
    copies_.place(pieces_, part_);
    inner_ = pieces_.add(std::max(whole_->scratch(), rest_ != nullptr ? rest_->scratch() : 0));
    return true;
  }

 protected:
  PartsJob(const ConvolutionShape& shape, Pass pass)
      : shape_(shape), pass_(pass), copies_(shape, pass) {}

  // body(primitive, first image, images) for each part, in order.
  template <class Body>
  void for_each_part(Body body) noexcept {
    for (std::int64_t first = 0; first < shape_.images; first += part_) {
      const std::int64_t images = std::min(part_, shape_.images - first);
      body(images == part_ ? *whole_ : *rest_, first, images);
    }
  }

  std::byte* inner(const Args& args) const { return args.scratch + inner_; }

  ConvolutionShape shape_;
  Pass pass_;
  ImageCopies copies_;
  std::int64_t part_ = 0;
  std::unique_ptr<Primitive> whole_, rest_;
  Pieces pieces_;
  std::int64_t inner_ = 0;
};

class ForwardJob final : public PartsJob {
 public:
  explicit ForwardJob(const ConvolutionShape& shape) : PartsJob(shape, Pass::forward) {
    if (shape.bias % shape.lanes != 0) bias_ = pieces_.add(4 * shape.filters);
    // Rows are channels: those of a block, or the few of a plain image, of which an odd one is
    // paired with zeros.
    if (shape.multiplies_short)
      paired_ = pieces_.add(2 * shape.weights() / rows() * round_up(rows(), 2));
  }

  void run(const Args& args) noexcept override {
    float* bias = shape_.bias > 0 ? args.in[2].as<float>() : nullptr;
    if (bias_) {  // the vector is not padded, what oneDNN reads must be
      float* padded = reinterpret_cast<float*>(args.scratch + *bias_);
      std::fill(std::copy_n(bias, shape_.bias, padded), padded + shape_.filters, 0.0f);
      bias = padded;
    }
    std::byte* weights = args.in[1].data;
    if (paired_) {
      weights = args.scratch + *paired_;
      pair_rows(shape_.lanes, shape_.weights() / (rows() * shape_.lanes), rows(),
                args.in[1].as<float>(), reinterpret_cast<Bf16*>(weights));
    }
    for_each_part([&](Primitive& primitive, std::int64_t first, std::int64_t images) {
      void* from = copies_.read_before(args, args.in[0], first, images);
      void* to = copies_.place_after(args, args.out[0], first);
      if (bias != nullptr)
        primitive.run({from, weights, to, bias}, inner(args));
      else
        primitive.run({from, weights, to}, inner(args));
      copies_.keep_after(args, args.out[0], first, images);
    });
  }

 private:
  // Of a block of the weights.
  std::int64_t rows() const { return shape_.plain_input ? shape_.channels : shape_.lanes; }

  std::optional<std::int64_t> bias_, paired_;
};

class GradInputJob final : public PartsJob {
 public:
  explicit GradInputJob(const ConvolutionShape& shape) : PartsJob(shape, Pass::grad_input) {
    turned_ = pieces_.add((shape.multiplies_short ? 2 : 4) * shape.weights());
  }

  void run(const Args& args) noexcept override {
    turn_weights(args);
    for_each_part([&](Primitive& primitive, std::int64_t first, std::int64_t images) {
      primitive.run({copies_.read_after(args, args.in[0], first, images), args.scratch + turned_,
                     copies_.place_before(args, args.out[0], first)},
                    inner(args));
      copies_.keep_before(args, args.out[0], first, images);
    });
  }

 private:
  void turn_weights(const Args& args) const noexcept {
    // With one tap blocks are a matrix of filters by channels.
    const std::int64_t group = shape_.weights() / shape_.groups;
    const std::int64_t filters = shape_.filters / shape_.groups / shape_.lanes;
    const BlockMatrix blocks{
        .outer = filters,
        .inner = group / (shape_.lanes * shape_.lanes) / filters,
        .swaps = shape_.multiplies_short ? is_point(shape_) : turns_forward(copies_.seen())};
    for (std::int64_t first = 0; first < shape_.weights(); first += group) {
      const float* from = args.in[1].as<float>() + first;
      std::byte* to = args.scratch + turned_;
      if (shape_.multiplies_short)
        pair_columns(shape_.lanes, blocks, from, reinterpret_cast<Bf16*>(to) + first);
      else
        transpose_blocks(shape_.lanes, blocks, from, reinterpret_cast<float*>(to) + first);
    }
  }

  std::int64_t turned_ = 0;
};

class GradKernelJob final : public PartsJob {
 public:
  explicit GradKernelJob(const ConvolutionShape& shape) : PartsJob(shape, Pass::grad_kernel) {}

  std::int64_t scratch() const override {
    return PartsJob::scratch() + (part_ < shape_.images ? round_up(4 * shape_.weights(), 64) : 0);
  }

  void run(const Args& args) noexcept override {
    float* dw = args.out[0].as<float>();
    float* addend = reinterpret_cast<float*>(args.scratch + PartsJob::scratch());
    for_each_part([&](Primitive& primitive, std::int64_t first, std::int64_t images) {
      primitive.run({copies_.read_before(args, args.in[0], first, images),
                     copies_.read_after(args, args.in[1], first, images), first == 0 ? dw : addend},
                    inner(args));
      if (first == 0) return;
      const std::int64_t count = shape_.weights();
#pragma omp parallel for simd
      for (std::int64_t i = 0; i < count; ++i) dw[i] += addend[i];
    });
  }
};

// The shape with products of bf16; nothing where images are none or the processor has no such
// products.
std::optional<ConvolutionShape> multiplied_short(std::optional<ConvolutionShape> shape,
                                                 const Call& call) {
  if (!shape || !shape->is_short || shape->lanes != kWideLanes ||
      call.environment.isa != Isa::avx512_bf16)
    return std::nullopt;
  shape->multiplies_short = true;
  return shape;
}

template <class PassJob>
std::unique_ptr<Job> make_job(const ConvolutionShape& shape, std::int64_t most_bytes) {
  auto job = std::make_unique<PassJob>(shape);
  if (!job->prepare(most_bytes)) return nullptr;
  return job;
}

}  // namespace

std::unique_ptr<Job> make_forward(const ConvolutionShape& shape, std::int64_t most_bytes) {
  return make_job<ForwardJob>(shape, most_bytes);
}

std::unique_ptr<Job> make_grad_input(const ConvolutionShape& shape, std::int64_t most_bytes) {
  return make_job<GradInputJob>(shape, most_bytes);
}

std::unique_ptr<Job> make_grad_kernel(const ConvolutionShape& shape, std::int64_t most_bytes) {
  return make_job<GradKernelJob>(shape, most_bytes);
}

std::unique_ptr<Job> prepare_forward(const Call& call) {
  const auto shape = read_forward(call);
  return shape ? make_forward(*shape) : nullptr;
}

std::unique_ptr<Job> prepare_grad_input(const Call& call) {
  const auto shape = read_grad_input(call);
  return shape ? make_grad_input(*shape) : nullptr;
}

std::unique_ptr<Job> prepare_grad_kernel(const Call& call) {
  const auto shape = read_grad_kernel(call);
  return shape ? make_grad_kernel(*shape) : nullptr;
}

std::unique_ptr<Job> prepare_short_forward(const Call& call) {
  const auto shape = multiplied_short(read_forward(call), call);
  return shape ? make_forward(*shape) : nullptr;
}

std::unique_ptr<Job> prepare_short_grad_input(const Call& call) {
  const auto shape = multiplied_short(read_grad_input(call), call);
  return shape ? make_grad_input(*shape) : nullptr;
}

std::unique_ptr<Job> prepare_short_grad_kernel(const Call& call) {
  const auto shape = multiplied_short(read_grad_kernel(call), call);
  return shape ? make_grad_kernel(*shape) : nullptr;
}

}  // namespace plimsoll::kernels::onednn
