// Elements set to zero at random, the others scaled up. Which ones follows from the key and from
// where an element stands in the run, so no mask is stored and a batch may be cut in any way.
#include <cmath>

#include "base/random.h"
#include "kernels/elementwise.h"
#include "ops/elements.h"
#include "ops/keras_order.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_real(in[0]);
  const bool image =
      in[0].shape.rank() == 4 && (in[0].layout == Layout::plain || in[0].layout == Layout::blocked);
  if (!image) check_matrix(in[0]);
  check_vector(in[1], 2, "the first sample's position and the seed");
  if (in[1].dtype != DType::i64)
    refuse("the first sample's position and the seed are " + to_string(in[1]), "i64 is needed");
  const double rate = attrs.real("rate");
  if (!(rate >= 0 && rate < 1))
    refuse("rate is " + std::to_string(rate), "0 up to, not including, 1 is needed");
  const std::string& what = attrs.word("of");
  if (what != "element" && what != "channel" && what != "image")
    refuse("it drops every '" + what + "'", "element, channel or image is needed");
  return {in[0]};
}

// The number within its sample of what falls together with an element.
class Together {
 public:
  Together(const Attrs& attrs, const Spec& x)
      : divisor_(attrs.word("of") == "image" ? 1 : x.shape[1]),
        is_alone_(attrs.word("of") == "element") {}

  bool is_alone() const { return is_alone_; }
  std::int64_t number(std::int64_t e) const { return is_alone_ ? e : e % divisor_; }

 private:
  std::int64_t divisor_;
  bool is_alone_;
};

// Whether element `e` of sample `s` of the run is kept.
class Mask {
 public:
  Mask(const Attrs& attrs, const TensorView& run)
      : key_(static_cast<std::uint64_t>(attrs.integer("key")) ^
             static_cast<std::uint64_t>(run.at<std::int64_t>(1))),
        // draw / 2^32 >= rate, without rounding.
        least_(static_cast<std::uint64_t>(std::ceil(attrs.real("rate") * 0x1p32))) {}

  bool keeps(std::int64_t s, std::int64_t e) const { return kept(draws(s, e), e); }

  // to[i] = from[i] * factor for the kept among elements e, e + 1, ... of a sample, 0 for the
  // others. Whole groups of four are done without a branch: which way it goes is a coin's toss.
  template <class T>
  void apply(std::int64_t s, std::int64_t e, std::int64_t count, const T* from, Wide<T> factor,
             T* to) const {
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      const PhiloxBlock four = draws(s, e + begin);
      for (std::int64_t i = begin; i < end; ++i) {
        const T scaled = from[i] * factor;
        to[i] = kept(four, e + i) ? scaled : T(0);
      }
    };
    std::int64_t i = std::min(count, (4 - e % 4) % 4);
    if (i > 0) part(0, i);
    for (; i + 4 <= count; i += 4) {
      const PhiloxBlock four = draws(s, e + i);
      for (std::size_t lane = 0; lane < 4; ++lane) {
        const T scaled = from[i + static_cast<std::int64_t>(lane)] * factor;
        to[i + static_cast<std::int64_t>(lane)] = four[lane] >= least_ ? scaled : T(0);
      }
    }
    if (i < count) part(i, count);
  }

 private:
  PhiloxBlock draws(std::int64_t s, std::int64_t e) const {
    return philox(key_, static_cast<std::uint64_t>(e / 4), static_cast<std::uint64_t>(s));
  }
  bool kept(const PhiloxBlock& four, std::int64_t e) const {
    return four[static_cast<std::size_t>(e % 4)] >= least_;
  }

  std::uint64_t key_;
  std::uint64_t least_;
};

template <class T>
T factor_of(const Attrs& attrs) {
  return static_cast<T>(1 / (1 - attrs.real("rate")));
}

void masked(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Mask mask(attrs, args.in[1]);
  const std::int64_t first = args.in[1].at<std::int64_t>(0);
  const std::int64_t per_sample = x.spec.shape.elements() / x.spec.shape[0];
  const Together together(attrs, x.spec);
  for_element(x.spec.dtype, [&]<class T>(T) {
    const auto factor = factor_of<Wide<T>>(attrs);
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < x.spec.shape[0]; ++n) {
      KerasWalk at(x.spec);
      std::int64_t length = 0;
      for (std::int64_t e = 0; e < per_sample; e += length) {
        length = at.contiguous();
        const T* from = x.image<T>(n) + at.offset();
        T* to = y.image<T>(n) + at.offset();
        if (together.is_alone())
          mask.apply<T>(first + n, e, length, from, factor, to);
        else
          for (std::int64_t i = 0; i < length; ++i)
            to[i] = mask.keeps(first + n, together.number(e + i)) ? T(from[i] * factor) : T(0);
        at.advance(length);
      }
    }
  });
  kernels::clear_padding(y);
}

void ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Mask mask(attrs, args.in[1]);
  const std::int64_t first = args.in[1].at<std::int64_t>(0);
  const Together together(attrs, x.spec);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(x.spec, [&](auto n, auto c, auto h, auto w) {
      const std::int64_t e = together.number(keras_index(x.spec, c, h, w));
      const bool kept = mask.keeps(first + n, e);
      y.at<T>(n, c, h, w) = kept ? x.at<T>(n, c, h, w) * factor_of<T>(attrs) : T(0);
    });
  });
  kernels::clear_padding(y);
}

Values backward(const Backward& b) {
  return {b.call1("dropout", {b.dy[0], b.in(1)}, b.node.attrs), kNoValue};
}

std::vector<Sample> samples() {
  const SampleInput first{plain({2}, DType::i64), SampleInput::Fill::count};
  const auto attrs = [](double rate, std::string of = "element") {
    return Attrs{{"rate", rate}, {"key", std::int64_t{77}}, {"of", std::move(of)}};
  };
  return {{.in = {{blocked(3, 13, 5, 3)}, first}, .attrs = attrs(0.5)},
          {.in = {{blocked(2, 8, 3, 3)}, first}, .attrs = attrs(0.2)},
          {.in = {{plain({3, 37})}, first}, .attrs = attrs(0.8)},
          {.in = {{blocked(3, 13, 5, 3)}, first}, .attrs = attrs(0.5, "channel")},
          {.in = {{blocked(9, 13, 5, 3)}, first}, .attrs = attrs(0.5, "image")},
          {.in = {{plain({2, 3, 5, 4})}, first}, .attrs = attrs(0.0)}};
}

}  // namespace

extern const OpFamily dropout;
const OpFamily dropout{{
    {.name = "dropout",
     .doc = "Zero at random, else scaled by 1 / (1 - rate). in: x, [the first sample's place in "
            "the run, the run's seed].",
     .attrs = {{"rate", 0.5, "share of the elements that become zero"},
               {"key", std::int64_t{0}, "tells layers apart"},
               {"of", std::string("element"), "what falls as one: element, channel or image"}},
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}},
     .cheap_to_repeat = true,
     .cost = pass_over<12>,
     .kernels = {{"loop", plain_job<masked>, kAnyElement}, {"ref", plain_job<ref>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
