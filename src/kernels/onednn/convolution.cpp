#include "kernels/onednn/convolution.h"

#include <algorithm>
#include <optional>

#include "kernels/onednn/image_copies.h"
#include "kernels/onednn/primitive.h"
#include "kernels/transpose.h"

namespace plimsoll::kernels::onednn {
namespace {

enum class Pass { forward, grad_input, grad_kernel };

// Padding behind the image that windows really touch; negative where cells at the end are not read.
std::int64_t padding_after(const Slide& s) {
  return (s.out - 1) * s.stride + (s.kernel - 1) * s.dilation + 1 - s.in - s.before;
}

// oneDNN's names for our layouts; weights of groups have names of their own.
struct WeightTags {
  dnnl_format_tag_t single, grouped;
};
struct Tags {
  dnnl_format_tag_t images;
  WeightTags kernel, turned, stem;
};

const Tags& tags_of(std::int64_t lanes) {
  static constexpr Tags kNarrow{dnnl_nChw8c,
                                {dnnl_OIhw8i8o, dnnl_gOIhw8i8o},
                                {dnnl_OIhw8o8i, dnnl_gOIhw8o8i},
                                {dnnl_Ohwi8o, dnnl_gOhwi8o}};
  static constexpr Tags kWide{dnnl_nChw16c,
                              {dnnl_OIhw16i16o, dnnl_gOIhw16i16o},
                              {dnnl_OIhw16o16i, dnnl_gOIhw16o16i},
                              {dnnl_Ohwi16o, dnnl_gOhwi16o}};
  return lanes == kWideLanes ? kWide : kNarrow;
}

Descriptor describe_pass(const ConvolutionShape& s, Pass pass, std::int64_t images) {
  const Slide &h = s.window.h, &w = s.window.w;
  const Tags& tags = tags_of(s.lanes);
  const auto x =
      describe({images, s.channels, h.in, w.in}, s.plain_input ? dnnl_nchw : tags.images);
  const auto y = describe({images, s.filters, h.out, w.out}, tags.images);
  const auto weights = [&](const WeightTags& order) {
    if (s.groups == 1) return describe({s.filters, s.channels, h.kernel, w.kernel}, order.single);
    return describe({s.groups, s.filters / s.groups, s.channels / s.groups, h.kernel, w.kernel},
                    order.grouped);
  };
  const auto kernel = weights(s.plain_input ? tags.stem : tags.kernel);
  const auto bias = describe({s.filters}, dnnl_x);
  const dnnl_dims_t strides = {h.stride, w.stride};
  const dnnl_dims_t dilates = {h.dilation - 1, w.dilation - 1};
  const dnnl_dims_t before = {h.before, w.before};
  const dnnl_dims_t after = {padding_after(h), padding_after(w)};

  dnnl_convolution_desc_t op;
  if (dnnl_dilated_convolution_forward_desc_init(
          &op, dnnl_forward_training, dnnl_convolution_direct, &x, &kernel,
          s.bias > 0 ? &bias : nullptr, &y, strides, dilates, before, after) != dnnl_success)
    return nullptr;
  Descriptor forward = make_descriptor(&op);
  if (pass == Pass::forward || forward == nullptr) return forward;

  dnnl_status_t status = dnnl_success;
  if (pass == Pass::grad_input) {
    const auto turned = weights(tags.turned);
    status = dnnl_dilated_convolution_backward_data_desc_init(
        &op, dnnl_convolution_direct, &x, &turned, &y, strides, dilates, before, after);
  } else {
    status = dnnl_dilated_convolution_backward_weights_desc_init(
        &op, dnnl_convolution_direct, &x, &kernel, nullptr, &y, strides, dilates, before, after);
  }
  return status == dnnl_success ? make_descriptor(&op, forward.get()) : nullptr;
}

std::unique_ptr<Primitive> make_primitive(const ConvolutionShape& s, Pass pass,
                                          std::int64_t images) {
  Descriptor descriptor = describe_pass(s, pass, images);
  if (descriptor == nullptr || !is_jit(descriptor.get())) return nullptr;
  switch (pass) {
    case Pass::forward:
      if (s.bias > 0)
        return std::make_unique<Primitive>(
            std::move(descriptor), std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                                              DNNL_ARG_DST, DNNL_ARG_BIAS});
      return std::make_unique<Primitive>(
          std::move(descriptor),
          std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
    case Pass::grad_input:
      return std::make_unique<Primitive>(
          std::move(descriptor),
          std::initializer_list<int>{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
    case Pass::grad_kernel:
      return std::make_unique<Primitive>(
          std::move(descriptor),
          std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS});
  }
  return nullptr;
}

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
  bool prepare(Pass pass, std::int64_t most_bytes) {
    const ConvolutionShape shape = copies_.seen();
    const std::int64_t images = shape_.images;
    const std::int64_t largest = 4 * std::max(shape_.input_image(), shape_.output_image());
    std::int64_t most = most_bytes / largest;
    if (most == 0 || 4 * shape_.weights() > kMostBytes) return false;
    most = copies_.images_together(most, pass == Pass::grad_kernel);
    const std::int64_t parts = (images + most - 1) / most;
    part_ = (images + parts - 1) / parts;

    whole_ = make_primitive(shape, pass, part_);
    if (whole_ == nullptr) return false;
    if (images % part_ != 0) {
      rest_ = make_primitive(shape, pass, images % part_);
      if (rest_ == nullptr) return false;
    }
    copies_.place(pieces_, part_);
    inner_ = pieces_.add(std::max(whole_->scratch(), rest_ != nullptr ? rest_->scratch() : 0));
    return true;
  }

 protected:
  explicit PartsJob(const ConvolutionShape& shape) : shape_(shape), copies_(shape) {}

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
  ImageCopies copies_;
  std::int64_t part_ = 0;
  std::unique_ptr<Primitive> whole_, rest_;
  Pieces pieces_;
  std::int64_t inner_ = 0;
};

class ForwardJob final : public PartsJob {
 public:
  explicit ForwardJob(const ConvolutionShape& shape) : PartsJob(shape) {
    if (shape.bias % shape.lanes != 0) bias_ = pieces_.add(4 * shape.filters);
  }

  void run(const Args& args) noexcept override {
    float* bias = shape_.bias > 0 ? args.in[2].as<float>() : nullptr;
    if (bias_) {  // the vector is not padded, what oneDNN reads must be
      float* padded = reinterpret_cast<float*>(args.scratch + *bias_);
      std::fill(std::copy_n(bias, shape_.bias, padded), padded + shape_.filters, 0.0f);
      bias = padded;
    }
    for_each_part([&](Primitive& primitive, std::int64_t first, std::int64_t images) {
      void* from = copies_.read_before(args, args.in[0], first, images);
      void* to = copies_.place_after(args, args.out[0], first);
      if (bias != nullptr)
        primitive.run({from, args.in[1].data, to, bias}, inner(args));
      else
        primitive.run({from, args.in[1].data, to}, inner(args));
      copies_.keep_after(args, args.out[0], first, images);
    });
  }

 private:
  std::optional<std::int64_t> bias_;
};

class GradInputJob final : public PartsJob {
 public:
  explicit GradInputJob(const ConvolutionShape& shape) : PartsJob(shape) {
    turned_ = pieces_.add(4 * shape.weights());
  }

  void run(const Args& args) noexcept override {
    float* turned = reinterpret_cast<float*>(args.scratch + turned_);
    transpose_blocks(shape_.lanes, shape_.weights() / (shape_.lanes * shape_.lanes),
                     args.in[1].as<float>(), turned);
    for_each_part([&](Primitive& primitive, std::int64_t first, std::int64_t images) {
      primitive.run({copies_.read_after(args, args.in[0], first, images), turned,
                     copies_.place_before(args, args.out[0], first)},
                    inner(args));
      copies_.keep_before(args, args.out[0], first, images);
    });
  }

 private:
  std::int64_t turned_ = 0;
};

class GradKernelJob final : public PartsJob {
 public:
  explicit GradKernelJob(const ConvolutionShape& shape) : PartsJob(shape) {}

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

template <class PassJob>
std::unique_ptr<Job> make_job(const ConvolutionShape& shape, Pass pass, std::int64_t most_bytes) {
  auto job = std::make_unique<PassJob>(shape);
  if (!job->prepare(pass, most_bytes)) return nullptr;
  return job;
}

}  // namespace

std::unique_ptr<Job> make_forward(const ConvolutionShape& shape, std::int64_t most_bytes) {
  return make_job<ForwardJob>(shape, Pass::forward, most_bytes);
}

std::unique_ptr<Job> make_grad_input(const ConvolutionShape& shape, std::int64_t most_bytes) {
  return make_job<GradInputJob>(shape, Pass::grad_input, most_bytes);
}

std::unique_ptr<Job> make_grad_kernel(const ConvolutionShape& shape, std::int64_t most_bytes) {
  return make_job<GradKernelJob>(shape, Pass::grad_kernel, most_bytes);
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

}  // namespace plimsoll::kernels::onednn
