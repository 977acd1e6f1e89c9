// What the generic tests of ops cannot see: batches worked off in parts, and which shapes are fast.
#include "kernels/onednn/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll::kernels::onednn {
namespace {

// 64-byte aligned floats.
class Floats {
 public:
  Floats(std::int64_t count, std::uint32_t seed)
      : storage_(static_cast<std::size_t>(count) + 16), first_(storage_.data()), count_(count) {
    while (reinterpret_cast<std::uintptr_t>(first_) % 64 != 0) ++first_;
    std::uint32_t state = seed;
    for (std::int64_t i = 0; seed != 0 && i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      first_[i] = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
    }
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  TensorView view(std::int64_t images) const {
    return {reinterpret_cast<std::byte*>(first_), plain({images, count_ / images}),
            count_ / images};
  }
  std::vector<float> content() const { return {first_, first_ + count_}; }

 private:
  std::vector<float> storage_;
  float* first_;
  std::int64_t count_;
};

using Make = std::unique_ptr<Job> (*)(const ConvolutionShape&, std::int64_t);

std::vector<float> run(Make make, const ConvolutionShape& shape, std::int64_t most_bytes) {
  const std::unique_ptr<Job> job = make(shape, most_bytes);
  EXPECT_NE(job, nullptr);
  if (job == nullptr) return {};
  job->compile();
  const std::int64_t n = shape.images;
  Floats x(n * shape.input_image(), make == make_grad_input ? 0 : 1);
  Floats w(shape.weights(), make == make_grad_kernel ? 0 : 2);
  Floats y(n * shape.output_image(), make == make_forward ? 0 : 3);
  Floats scratch(job->scratch() / 4 + 16, 4);
  std::vector<TensorView> in, out;
  if (make == make_forward) in = {x.view(n), w.view(1)}, out = {y.view(n)};
  if (make == make_grad_input) in = {y.view(n), w.view(1)}, out = {x.view(n)};
  if (make == make_grad_kernel) in = {x.view(n), y.view(n)}, out = {w.view(1)};
  job->run({in, out, scratch.view(1).data});
  return (make == make_forward ? y : make == make_grad_input ? x : w).content();
}

ConvolutionShape square(std::int64_t images, std::int64_t channels, std::int64_t filters,
                        std::int64_t size, std::int64_t kernel, std::int64_t stride,
                        std::int64_t pad) {
  const Slide slide = {.in = size,
                       .out = (size + 2 * pad - kernel) / stride + 1,
                       .kernel = kernel,
                       .stride = stride,
                       .before = pad};
  return {.images = images, .channels = channels, .filters = filters, .window = {slide, slide}};
}

const ConvolutionShape kShapes[] = {square(5, 16, 24, 9, 3, 1, 1), square(7, 24, 16, 9, 1, 2, 0),
                                    square(5, 8, 16, 8, 1, 1, 0)};

std::int64_t bytes_of_two_images(const ConvolutionShape& s) {
  return 2 * 4 * std::max(s.input_image(), s.output_image());
}

TEST(Convolution, PartsOfABatchGiveTheSameBits) {
  for (const ConvolutionShape& shape : kShapes)
    for (Make make : {make_forward, make_grad_input})
      EXPECT_EQ(run(make, shape, bytes_of_two_images(shape)), run(make, shape, kMostBytes));
}

TEST(Convolution, WeightGradientsOfPartsAddUp) {
  for (const ConvolutionShape& shape : kShapes) {
    const std::vector<float> whole = run(make_grad_kernel, shape, kMostBytes);
    const std::vector<float> parts = run(make_grad_kernel, shape, bytes_of_two_images(shape));
    ASSERT_EQ(parts.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      ASSERT_NEAR(parts[i], whole[i], 1e-5 * std::sqrt(static_cast<double>(shape.output_image())));
  }
}

TEST(Convolution, ASingleImageThatIsTooLargeIsRefused) {
  EXPECT_EQ(make_forward(kShapes[0], bytes_of_two_images(kShapes[0]) / 4), nullptr);
}

// Kinds of layers of Inception-v3, Xception and ResNet: a oneDNN that has no generated code for one
// of them would make training a hundred times slower without a word.
TEST(Convolution, LayersOfTheZooAreFastInAllPasses) {
  std::vector<ConvolutionShape> layers = {
      square(2, 32, 32, 149, 3, 1, 0),  square(2, 80, 192, 73, 3, 1, 0),
      square(2, 288, 384, 35, 3, 2, 0), square(2, 48, 64, 35, 5, 1, 2),
      square(2, 768, 192, 17, 1, 1, 0), square(2, 448, 384, 8, 3, 1, 1),
      square(2, 64, 128, 147, 1, 2, 0), square(2, 728, 1024, 19, 1, 2, 0),
      square(2, 128, 128, 56, 3, 2, 1)};
  ConvolutionShape flat = square(2, 160, 192, 17, 1, 1, 0);
  flat.window.w = {.in = 17, .out = 17, .kernel = 7, .before = 3};
  layers.push_back(flat);
  std::swap(flat.window.h, flat.window.w);
  layers.push_back(flat);
  for (const ConvolutionShape& layer : layers) {
    SCOPED_TRACE(std::to_string(layer.channels) + " channels to " + std::to_string(layer.filters));
    EXPECT_NE(make_forward(layer), nullptr);
    EXPECT_NE(make_grad_input(layer), nullptr);
    EXPECT_NE(make_grad_kernel(layer), nullptr);
  }
  ConvolutionShape stem = square(2, 3, 32, 299, 3, 2, 0);
  stem.plain_input = true;
  EXPECT_NE(make_forward(stem), nullptr);
  EXPECT_NE(make_grad_kernel(stem), nullptr);
}

}  // namespace
}  // namespace plimsoll::kernels::onednn
