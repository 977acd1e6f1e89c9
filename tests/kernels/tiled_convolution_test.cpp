// The convolutions by tiles against sums in double precision, at some results of every convolution
// of every network.
#include "kernels/tiled_convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "kernels/window.h"
#include "ops/table.h"
#include "tensor/arena.h"
#include "tensor/conv_layout.h"
#include "tests/support/fenced_tensor.h"
#include "tests/support/sanitized.h"
#include "tests/support/threads.h"
#include "tests/support/zoo_trainer.h"

namespace plimsoll {
namespace {

using kernels::Window;

// A tensor of its own with random numbers in its elements, none in its padding.
class Tensor {
 public:
  Tensor(const Spec& spec, std::uint32_t seed) : arena_(round_up(spec.bytes(), 64)) {
    view_ = {.data = arena_.at(0), .spec = spec, .image_stride = spec.image_elements()};
    std::minstd_rand random(seed);
    std::uniform_real_distribution<float> some(-1, 1);
    const Shape& s = spec.shape;
    for (std::int64_t a = 0; a < s[0]; ++a)
      for (std::int64_t b = 0; b < s[1]; ++b)
        for (std::int64_t c = 0; c < s[2]; ++c)
          for (std::int64_t d = 0; d < s[3]; ++d) view_.at<float>(a, b, c, d) = some(random);
  }
  const TensorView& view() const { return view_; }

 private:
  Arena arena_;
  TensorView view_;
};

// One convolution: x and y or their gradients, weights or theirs.
struct Case {
  std::string op;
  const Attrs& attrs;
  Spec x, w, y;
  std::string kernel = "winograd";
};

double product_sum(const Case& c, const Window& window, const TensorView& x, const TensorView& w,
                   const TensorView& y, const std::array<std::int64_t, 4>& at) {
  double sum = 0;
  const auto [a, b, p, q] = at;
  if (c.op == "conv2d") {
    for (std::int64_t i = 0; i < c.x.shape[1]; ++i)
      for (std::int64_t kh = 0; kh < window.h.kernel; ++kh)
        for (std::int64_t kw = 0; kw < window.w.kernel; ++kw) {
          const std::int64_t ih = window.h.at(p, kh), iw = window.w.at(q, kw);
          if (window.h.has(ih) && window.w.has(iw))
            sum += double{x.at<float>(a, i, ih, iw)} * w.at<float>(b, i, kh, kw);
        }
  } else if (c.op == "conv2d_grad_input") {
    for (std::int64_t o = 0; o < c.y.shape[1]; ++o)
      for (std::int64_t kh = 0; kh < window.h.kernel; ++kh)
        for (std::int64_t kw = 0; kw < window.w.kernel; ++kw) {
          const std::int64_t oh = p + window.h.before - kh, ow = q + window.w.before - kw;
          if (oh >= 0 && oh < window.h.out && ow >= 0 && ow < window.w.out)
            sum += double{y.at<float>(a, o, oh, ow)} * w.at<float>(o, b, kh, kw);
        }
  } else {
    for (std::int64_t n = 0; n < c.x.shape[0]; ++n)
      for (std::int64_t oh = 0; oh < window.h.out; ++oh)
        for (std::int64_t ow = 0; ow < window.w.out; ++ow) {
          const std::int64_t ih = window.h.at(oh, p), iw = window.w.at(ow, q);
          if (window.h.has(ih) && window.w.has(iw))
            sum += double{x.at<float>(n, b, ih, iw)} * y.at<float>(n, a, oh, ow);
        }
  }
  return sum;
}

const Kernel& kernel_of(const Case& c) {
  for (const Kernel& kernel : op_table().find(c.op)->kernels)
    if (kernel.name == c.kernel) return kernel;
  throw std::logic_error(c.op + " has no kernel " + c.kernel);
}

// A convolution by tiles, computed by the team of this moment; false if tiles are not for this
// shape.
class TiledRun {
 public:
  explicit TiledRun(const Case& c) : x(c.x, 1), w(c.w, 2), y(c.y, 3) {
    if (c.op == "conv2d_grad_input") in = {y.view(), w.view()}, out = {x.view()};
    if (c.op == "conv2d_grad_kernel") in = {x.view(), y.view()}, out = {w.view()};
    const std::vector<Operand> reads{{in[0].spec}, {in[1].spec}}, writes{{out[0].spec}};
    Environment environment = this_process();
    environment.halves_avx512 = true;  // what is chosen there is right everywhere
    const auto job = prepare(kernel_of(c), {c.attrs, reads, writes, environment});
    if (job == nullptr) return;
    const FencedTensor scratch(plain({job->scratch()}, DType::u8), 0, false);
    EXPECT_LE(job->scratch(), environment.threads * (std::int64_t{32} << 20));
    job->run({.in = in, .out = out, .scratch = scratch.view().data});
    EXPECT_TRUE(scratch.fence_stands());
    is_done = true;
  }
  std::vector<double> result() const { return logical_elements(out[0]); }

  Tensor x, w, y;
  std::vector<TensorView> in{x.view(), w.view()}, out{y.view()};
  bool is_done = false;
};

// The error of some results against their size; negative if tiles are not for this shape.
double relative_error(const Case& c) {
  const TiledRun run(c);
  if (!run.is_done) return -1;
  const TensorView& result = run.out[0];
  const Window window =
      kernels::read_window(c.attrs, c.x.shape, c.y.shape, c.w.shape[2], c.w.shape[3]);
  const Shape& made = result.spec.shape;
  std::minstd_rand random(4);
  double wrong = 0, size = 0;
  for (int i = 0; i < 100; ++i) {
    std::array<std::int64_t, 4> at{};
    for (int d = 0; d < 4; ++d)
      at[d] = std::uniform_int_distribution<std::int64_t>(0, made[d] - 1)(random);
    const double wanted = product_sum(c, window, run.x.view(), run.w.view(), run.y.view(), at);
    const double got = result.at<float>(at[0], at[1], at[2], at[3]);
    wrong += (got - wanted) * (got - wanted);
    size += wanted * wanted;
  }
  return std::sqrt(wrong / size);
}

double allowed(const std::string& op) { return op == "conv2d_grad_kernel" ? 3e-5 : 1e-5; }

TEST(TiledConvolution, IsRightForEveryConvolutionOfTheZoo) {
  std::map<std::string, bool> known;
  int served = 0;
  for (const zoo::Network& network : zoo::networks()) {
    if (kSanitized && network.name != "googlenet") continue;
    SCOPED_TRACE(network.name);
    const std::int64_t batch = network.image.h > 64 ? 1 : 4;
    const nn::Size2 image = network.image.h > 400 ? nn::Size2(320) : network.image;
    const Trainer trainer(
        op_table(),
        [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
        {.input = {.batch = batch, .channels = network.channels, .image = image},
         .train_batches = {batch},
         .evaluate_batches = {},
         .task = task_of(network),
         .optimizer = {}});
    const Graph& graph = trainer.tapes().graph(0);
    for (const Node& node : graph.nodes()) {
      if (!node.op->name.starts_with("conv2d")) continue;
      const auto spec = [&](const Values& ids, std::size_t i) { return graph.spec(ids[i]); };
      Case c{node.op->name, node.attrs, spec(node.in, 0), spec(node.in, 1), spec(node.out, 0)};
      if (c.op == "conv2d_grad_input") c.x = spec(node.out, 0), c.y = spec(node.in, 0);
      if (c.op == "conv2d_grad_kernel") c.w = spec(node.out, 0), c.y = spec(node.in, 1);
      std::string key = c.op + to_string(c.x) + to_string(c.w) + to_string(c.y);
      for (const auto& [name, value] : node.attrs.entries()) key += to_string(value);
      if (!known.emplace(key, true).second || node.in.size() > 2) continue;
      const double error = relative_error(c);
      EXPECT_LE(error, allowed(c.op)) << key;
      if (error >= 0) ++served;
    }
  }
  EXPECT_GE(served, kSanitized ? 20 : 100);
}

class TiledConvolutionOf : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Lanes, TiledConvolutionOf, testing::Values(kNarrowLanes, kWideLanes),
                         testing::PrintToStringParamName());

TEST_P(TiledConvolutionOf, LanesIsRightForOddShapes) {
  std::minstd_rand random(7);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const std::int64_t kernels[][2] = {{3, 3}, {5, 5}, {1, 7}, {7, 1}, {1, 3}, {3, 1}};
  int served = 0;
  for (int i = 0; i < 60; ++i) {
    const auto [kh, kw] = kernels[i % 6];
    const std::int64_t images = draw(1, 5), channels = draw(9, 70), filters = draw(9, 70);
    const std::int64_t height = draw(kh, 29), width = draw(kw, 29);
    Ints pads{draw(0, kh - 1), draw(0, kw - 1), draw(0, kh - 1), draw(0, kw - 1)};
    const Spec x = blocked(images, channels, height, width, DType::f32, GetParam());
    const Spec y = blocked(images, filters, height + pads[0] + pads[2] - kh + 1,
                           width + pads[1] + pads[3] - kw + 1, x);
    for (const char* op : {"conv2d", "conv2d_grad_input", "conv2d_grad_kernel"}) {
      Attrs given{{"pads", pads}};
      if (op == std::string("conv2d_grad_input")) given.set("input", Ints{height, width});
      if (op == std::string("conv2d_grad_kernel")) given.set("kernel", Ints{kh, kw});
      const Attrs attrs = complete_attrs(*op_table().find(op), given);
      const double error =
          relative_error({op, attrs, x, conv_kernel_spec(x, filters, kh, kw, 1), y});
      EXPECT_LE(error, allowed(op))
          << op << ' ' << to_string(x) << ' ' << to_string(y) << ' ' << kh << 'x' << kw;
      if (error >= 0) ++served;
    }
  }
  EXPECT_GE(served, 60);
}

// The convolution of one tap that Strassen's algorithm takes, in every pass.
struct Point {
  std::int64_t images, channels, filters, height, width;
};
template <class Body>
void for_each_pass(const Point& p, std::int64_t lanes, Body body) {
  const Spec x = blocked(p.images, p.channels, p.height, p.width, DType::f32, lanes);
  const Spec y = blocked(p.images, p.filters, p.height, p.width, x);
  for (const char* op : {"conv2d", "conv2d_grad_input", "conv2d_grad_kernel"}) {
    // With 8 lanes it is for gradients of weights, with 16 for images.
    if ((lanes == kNarrowLanes) != (op == std::string("conv2d_grad_kernel"))) continue;
    Attrs given;
    if (op == std::string("conv2d_grad_input")) given.set("input", Ints{p.height, p.width});
    const Attrs attrs = complete_attrs(*op_table().find(op), given);
    SCOPED_TRACE(std::string(op) + " " + to_string(x) + " " + to_string(y));
    body(Case{op, attrs, x, conv_kernel_spec(x, p.filters, 1, 1, 1), y, "strassen"});
  }
}

// Odd numbers of cells, of blocks, of channels in the last block of either kind.
constexpr Point kPoints[] = {{1, 385, 400, 41, 39}, {5, 409, 449, 19, 19}, {2, 500, 391, 31, 27},
                             {1, 432, 384, 40, 40}, {3, 728, 728, 23, 23}, {1, 2048, 1040, 40, 40}};

TEST_P(TiledConvolutionOf, LanesByStrassensAlgorithmIsRight) {
  for (const Point& point : kPoints)
    for_each_pass(point, GetParam(), [](const Case& c) {
      const double error = relative_error(c);
      EXPECT_GE(error, 0) << "not served";
      EXPECT_LE(error, allowed(c.op));
    });
}

TEST_P(TiledConvolutionOf, LanesByStrassensAlgorithmKeepsPaddingZero) {
  for (const Point& point : kPoints)
    for_each_pass(point, GetParam(), [](const Case& c) {
      const TiledRun run(c);
      const TensorView& made = run.out[0];
      const auto* stored = made.as<float>();
      double all = 0, logical = 0;
      for (std::int64_t i = 0; i < made.spec.stored_elements(); ++i) all += std::abs(stored[i]);
      for (double element : run.result()) logical += std::abs(element);
      std::int64_t zeros = std::count(stored, stored + made.spec.stored_elements(), 0.0F);
      EXPECT_GE(zeros, made.spec.stored_elements() - made.spec.shape.elements());
      EXPECT_NEAR(all, logical, 1e-9 * all);
    });
}

TEST_P(TiledConvolutionOf, LanesByStrassensAlgorithmGivesTheSameBitsWhateverTheNumberOfThreads) {
  for (const Point& point : kPoints)
    for_each_pass(point, GetParam(), [](const Case& c) {
      const auto bits = [&](int threads) {
        const Threads team(threads);
        return TiledRun(c).result();
      };
      const std::vector<double> alone = bits(1);
      for (int threads : {2, 3, 7}) EXPECT_TRUE(bits(threads) == alone) << threads << " threads";
    });
}

TEST_P(TiledConvolutionOf, LanesGivesTheSameBitsWhateverTheNumberOfThreads) {
  struct Sizes {
    std::int64_t images, channels, filters, side, kh, kw;
  };
  // By tiles, by filters, weights in several groups, odd blocks.
  for (const Sizes& s :
       {Sizes{3, 40, 72, 35, 3, 3}, Sizes{4, 400, 392, 8, 3, 3}, Sizes{2, 512, 512, 13, 3, 3},
        Sizes{3, 48, 64, 17, 5, 5}, Sizes{3, 72, 56, 17, 1, 7}, Sizes{3, 72, 56, 17, 7, 1}}) {
    const Spec x = blocked(s.images, s.channels, s.side, s.side, DType::f32, GetParam());
    const Spec y = blocked(s.images, s.filters, s.side, s.side, x);
    for (const char* op : {"conv2d", "conv2d_grad_input", "conv2d_grad_kernel"}) {
      SCOPED_TRACE(std::string(op) + " " + to_string(x) + " " + to_string(y));
      Attrs given{{"pads", Ints{s.kh / 2, s.kw / 2, s.kh / 2, s.kw / 2}}};
      if (op == std::string("conv2d_grad_input")) given.set("input", Ints{s.side, s.side});
      if (op == std::string("conv2d_grad_kernel")) given.set("kernel", Ints{s.kh, s.kw});
      const Attrs attrs = complete_attrs(*op_table().find(op), given);
      const Case c{op, attrs, x, conv_kernel_spec(x, s.filters, s.kh, s.kw, 1), y};
      const auto bits = [&](int threads) {
        const Threads team(threads);
        const TiledRun run(c);
        EXPECT_TRUE(run.is_done);
        return run.result();
      };
      const std::vector<double> alone = bits(1);
      for (int threads : {2, 3, 7}) EXPECT_TRUE(bits(threads) == alone) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace plimsoll
