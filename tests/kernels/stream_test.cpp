// Tensors that outgrow the caches are written past them. Images do not see each other, so the
// result must be that of each image by itself, which is small enough to be written the ordinary
// way.
#include "kernels/simd/stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "kernels/batch_norm.h"
#include "kernels/depthwise.h"
#include "kernels/half.h"
#include "tests/support/fenced_tensor.h"

namespace plimsoll::kernels {
namespace {

const Spec kImages = blocked(2, 8, 700, 600);

// A dense tensor, filled by a rule.
class Tensor {
 public:
  explicit Tensor(const Spec& spec, std::uint64_t key = 0) : memory_(spec, 0, false) {
    for (std::int64_t i = 0; i < spec.stored_elements(); ++i)
      whole().as<float>()[i] = static_cast<float>(signed_unit(key, static_cast<std::uint64_t>(i)));
  }

  const TensorView& whole() const { return memory_.view(); }
  TensorView image(std::int64_t n) const {
    TensorView one = whole();
    one.data = reinterpret_cast<std::byte*>(whole().image<float>(n));
    one.spec.shape = {1, one.spec.shape[1], one.spec.shape[2], one.spec.shape[3]};
    return one;
  }
  std::vector<std::byte> content() const { return memory_.content(); }
  bool fence_stands() const { return memory_.fence_stands(); }

 private:
  FencedTensor memory_;
};

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_TRUE(a.content() == b.content());
  EXPECT_TRUE(a.fence_stands());
}

TEST(Stream, IsForTensorsThatOutgrowTheCaches) {
  EXPECT_TRUE(avx2::outgrows_caches(kImages));
  EXPECT_FALSE(avx2::outgrows_caches(Tensor(kImages).image(0).spec));
}

TEST(Stream, WritesWhatOrdinaryStoresWrite) {
  const Tensor x(kImages, 1), dz(kImages, 2),
      weights(Spec{.shape = {8, 1, 3, 3}, .layout = Layout::depth_kernel}, 3);
  const Tensor mean(plain({8}), 4), variance(plain({8}), 5), gamma(plain({8}), 6),
      beta(plain({8}), 7);
  for (std::int64_t i = 0; i < 8; ++i)
    variance.whole().as<float>()[i] = 1.0F + static_cast<float>(i);
  const Attrs attrs{{"strides", Ints{1, 1}},
                    {"pads", Ints{1, 1, 1, 1}},
                    {"dilations", Ints{1, 1}},
                    {"input_activation", std::string("none")},
                    {"epsilon", 1e-3},
                    {"training", std::int64_t{0}},
                    {"sums", std::int64_t{0}},
                    {"scale", std::int64_t{1}},
                    {"center", std::int64_t{1}},
                    {"residual", std::int64_t{0}},
                    {"from_z", std::int64_t{0}},
                    {"terms", std::int64_t{1}},
                    {"activation", std::string("relu")}};
  const auto run = [&](auto kernel, const std::vector<TensorView>& in, const TensorView& out) {
    const Tensor sums(plain({8})), more_sums(plain({8}));
    const std::vector<TensorView> outs{out, sums.whole(), more_sums.whole()};
    kernel(attrs, Args{.in = in, .out = outs});
  };
  const TensorView parameters[] = {mean.whole(), variance.whole(), gamma.whole(), beta.whole()};
  const auto with_parameters = [&](std::vector<TensorView> in) {
    in.insert(in.end(), std::begin(parameters), std::end(parameters));
    return in;
  };
  const auto check = [&](const char* what, auto kernel, auto operands) {
    SCOPED_TRACE(what);
    Tensor together(kImages), apart(kImages);
    run(kernel, operands(x.whole(), dz.whole()), together.whole());
    for (std::int64_t n : {0, 1}) run(kernel, operands(x.image(n), dz.image(n)), apart.image(n));
    expect_same(together, apart);
  };
  check("bn_apply", bn_apply,
        [&](const TensorView& y, const TensorView&) { return with_parameters({y}); });
  check("bn_grad", bn_grad, [&](const TensorView& y, const TensorView& g) {
    return with_parameters({g, y});
  });
  check("depthwise", depthwise, [&](const TensorView& y, const TensorView&) {
    return std::vector<TensorView>{y, weights.whole()};
  });
  check("bn_depthwise", bn_depthwise, [&](const TensorView& y, const TensorView&) {
    return with_parameters({y, weights.whole()});
  });
}

TEST(Stream, UnpacksWhatOrdinaryStoresUnpack) {
  const Tensor x(kImages, 1);
  const Tensor packed(kImages);  // more than room enough
  Tensor together(kImages), apart(kImages);
  pack_half(x.whole(), packed.whole().data);
  unpack_half(packed.whole().data, together.whole());
  for (std::int64_t n : {0, 1}) {
    pack_half(x.image(n), packed.whole().data);
    unpack_half(packed.whole().data, apart.image(n));
  }
  expect_same(together, apart);
}

}  // namespace
}  // namespace plimsoll::kernels
