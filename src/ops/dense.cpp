// y = x w + b: a fully connected layer.
#include <algorithm>

#include "kernels/clear.h"
#include "kernels/gemm.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

using kernels::Gemm;
using kernels::MatrixView;

// Refuses unless `spec` is a plain matrix of real numbers.
void check_numbers(const Spec& spec, std::string_view what) {
  check_matrix(spec, what);
  if (spec.dtype != DType::f32 && spec.dtype != DType::f64)
    refuse(std::string(what) + " is " + to_string(spec), "f32 (or f64) elements are needed");
}

Specs infer_forward(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 3);
  const Spec &x = in[0], &w = in[1];
  check_numbers(x, "input");
  check_matrix(w, "the weight matrix");
  check_same(w, plain({x.shape[1], w.shape[1]}, x.dtype), "the weight matrix");
  if (in.size() == 3) check_same(in[2], plain({w.shape[1]}, x.dtype), "the bias");
  return {plain({x.shape[0], w.shape[1]}, x.dtype)};
}

Specs infer_grad_input(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  const Spec &dy = in[0], &w = in[1];
  check_numbers(dy, "the output gradient");
  check_matrix(w, "the weight matrix");
  check_same(w, plain({w.shape[0], dy.shape[1]}, dy.dtype), "the weight matrix");
  return {plain({dy.shape[0], w.shape[0]}, dy.dtype)};
}

Specs infer_grad_kernel(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  const Spec &x = in[0], &dy = in[1];
  check_numbers(x, "input");
  check_matrix(dy, "the output gradient");
  check_same(dy, plain({x.shape[0], dy.shape[1]}, x.dtype), "the output gradient");
  return {plain({x.shape[1], dy.shape[1]}, x.dtype)};
}

template <class T>
void add_row(T factor, const T* row, T* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += factor * row[i];
}

// Row by row of the weights: in the order of the columns every element would come from afar.
void forward_ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  for_real(x.spec.dtype, [&]<class T>(T) {
    const std::int64_t rows = y.spec.shape[0], columns = y.spec.shape[1];
    for (std::int64_t n = 0; n < rows; ++n)
      for (std::int64_t o = 0; o < columns; ++o)
        y.at<T>(n, o) = args.in.size() > 2 ? args.in[2].at<T>(o) : T(0);
    for (std::int64_t i = 0; i < w.spec.shape[0]; ++i)
      for (std::int64_t n = 0; n < rows; ++n)
        add_row(x.at<T>(n, i), w.image<T>(i), y.image<T>(n), columns);
  });
}

void grad_input_ref(const Attrs&, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < dx.spec.shape[0]; ++n)
      for (std::int64_t i = 0; i < dx.spec.shape[1]; ++i) {
        T sum = 0;
        for (std::int64_t o = 0; o < dy.spec.shape[1]; ++o) sum += dy.at<T>(n, o) * w.at<T>(i, o);
        dx.at<T>(n, i) = sum;
      }
  });
}

void grad_kernel_ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &dy = args.in[1], &dw = args.out[0];
  for_real(dy.spec.dtype, [&]<class T>(T) {
    const std::int64_t columns = dw.spec.shape[1];
    for (std::int64_t i = 0; i < dw.spec.shape[0]; ++i) {
      std::fill_n(dw.image<T>(i), columns, T(0));
      for (std::int64_t n = 0; n < dy.spec.shape[0]; ++n)
        add_row(x.at<T>(n, i), dy.image<T>(n), dw.image<T>(i), columns);
    }
  });
}

// The matrix as it is, and turned over.
MatrixView straight(const TensorView& view) { return {view.as<float>(), view.image_stride, 1}; }
MatrixView turned(const TensorView& view) { return {view.as<float>(), 1, view.image_stride}; }

enum class Pass { forward, grad_input, grad_kernel };

template <Pass pass>
class DenseJob final : public Job {
 public:
  // The first output is m x n; k is what is summed over.
  DenseJob(const Shape& out, std::int64_t k, const Environment& where)
      : gemm_(out[0], out[1], k, where.threads, lanes_of(where.isa)) {}

  std::int64_t scratch() const override { return gemm_.scratch(); }

  void run(const Args& args) noexcept override {
    const TensorView &a = args.in[0], &b = args.in[1], &c = args.out[0];
    const float* bias = args.in.size() > 2 ? args.in[2].as<float>() : nullptr;
    gemm_.run(pass == Pass::grad_kernel ? turned(a) : straight(a),
              pass == Pass::grad_input ? turned(b) : straight(b), bias, c.as<float>(),
              c.image_stride, args.scratch);
  }

 private:
  Gemm gemm_;
};

template <Pass pass>
std::unique_ptr<Job> make_job(const Call& call) {
  const Shape& first = call.in[0].spec.shape;
  return std::make_unique<DenseJob<pass>>(
      call.out[0].spec.shape, pass == Pass::grad_kernel ? first[0] : first[1], call.environment);
}

// The kernel's gradient first: x, which only it reads, can die before dx is born.
Values backward(const Backward& b) {
  Values grads = b.none();
  if (b.wants[1]) grads[1] = b.call1("dense_grad_kernel", {b.in(0), b.dy[0]});
  if (b.node.in.size() > 2 && b.wants[2]) grads[2] = b.call1("channel_sum", {b.dy[0]});
  if (b.wants[0]) grads[0] = b.call1("dense_grad_input", {b.dy[0], b.in(1)});
  return grads;
}

// All three passes multiply once for each weight and row.
template <Pass pass>
Cost cost(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  const Spec& w = pass == Pass::grad_kernel ? out[0] : in[1];
  Cost cost = pass_over<0>(attrs, in, out);
  cost.flops = 2.0 * static_cast<double>(w.shape.elements()) * static_cast<double>(in[0].shape[0]);
  return cost;
}

}  // namespace

extern const OpFamily dense;
const OpFamily dense{{
    {.name = "dense",
     .doc = "Fully connected: every output sees every input, and a bias where one is given.",
     .infer = infer_forward,
     .backward = backward,
     .arithmetic = Arithmetic::forward,
     .framework_holds = FrameworkHolds::input,
     .cost = cost<Pass::forward>,
     .kernels = {{"simd", make_job<Pass::forward>}, {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = {{.in = {{plain({3, 10})}, {plain({10, 33})}, {plain({33})}}},
                 {.in = {{plain({1, 13})}, {plain({13, 10})}}},
                 {.in = {{plain({7, 300})}, {plain({300, 17})}, {plain({17})}}},
                 {.in = {{plain({102, 20})}, {plain({20, 70})}}}}},
    {.name = "dense_grad_input",
     .doc = "The gradient of a dense layer's input.",
     .infer = infer_grad_input,
     .arithmetic = Arithmetic::grad_input,
     .cost = cost<Pass::grad_input>,
     .kernels = {{"simd", make_job<Pass::grad_input>},
                 {"ref", plain_job<grad_input_ref>, kAnyReal}},
     .samples = {{.in = {{plain({3, 33})}, {plain({10, 33})}}},
                 {.in = {{plain({1, 10})}, {plain({13, 10})}}},
                 {.in = {{plain({7, 300})}, {plain({40, 300})}}}}},
    {.name = "dense_grad_kernel",
     .doc = "The gradient of a dense layer's weights.",
     .infer = infer_grad_kernel,
     .arithmetic = Arithmetic::grad_weights,
     .cost = cost<Pass::grad_kernel>,
     .kernels = {{"simd", make_job<Pass::grad_kernel>},
                 {"ref", plain_job<grad_kernel_ref>, kAnyReal}},
     .samples = {{.in = {{plain({3, 10})}, {plain({3, 33})}}},
                 {.in = {{plain({1, 13})}, {plain({1, 10})}}},
                 {.in = {{plain({5, 130})}, {plain({5, 70})}}}}},
}};

}  // namespace plimsoll::ops
