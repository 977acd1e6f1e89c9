// z = activation(gamma * (y - mean) / sqrt(variance + epsilon) + beta + residual), and its
// gradient.
#include <algorithm>

#include "kernels/batch_norm.h"
#include "ops/normalisation.h"

namespace plimsoll::ops {
namespace {

std::vector<AttrSchema> schema() {
  std::vector<AttrSchema> attrs = normalisation_schema();
  attrs.push_back({"training", std::int64_t{1},
                   "1: mean and variance are those of y, gradient flows through them"});
  attrs.push_back({"residual", std::int64_t{0}, "1: a tensor is added before the activation"});
  return attrs;
}

std::vector<AttrSchema> apply_schema() {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back(
      {"meets", std::int64_t{0}, "1: the statistics are those of all parts of a batch"});
  return attrs;
}

Specs infer_apply(const Attrs& attrs, std::span<const Spec> in) {
  const std::size_t count =
      1 + parameter_count(attrs) + static_cast<std::size_t>(attrs.flag("residual"));
  check_count(in, count, count);
  check_image(in[0]);
  check_parameters(attrs, in, 1, in[0].shape[1]);
  if (attrs.flag("residual")) check_same(in[count - 1], in[0], "the residual");
  return {in[0]};
}

Specs infer_grad(const Attrs& attrs, std::span<const Spec> in) {
  if (attrs.integer("terms") < 1 || attrs.integer("terms") > 2)
    refuse("terms is " + std::to_string(attrs.integer("terms")), "1 or 2 are needed");
  const auto terms = static_cast<std::size_t>(attrs.integer("terms"));
  const std::size_t count =
      terms + 1 + parameter_count(attrs) + static_cast<std::size_t>(attrs.flag("from_z"));
  check_count(in, count, count);
  for (std::size_t i = 0; i <= terms; ++i) {
    check_image(in[i]);
    check_same(in[i], in[0], "a tensor");
  }
  check_parameters(attrs, in, terms + 1, in[0].shape[1]);
  Specs out{in[0]};
  const Spec channels = plain({in[0].shape[1]}, widened(in[0].dtype));
  const bool sums = attrs.flag("sums");
  if (sums || attrs.flag("scale")) out.push_back(channels);
  if (sums || attrs.flag("center")) out.push_back(channels);
  if (attrs.flag("residual")) out.push_back(in[0]);
  return out;
}

void apply_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &y = args.in[0], &z = args.out[0];
  const std::string& activation = attrs.word("activation");
  for_real(y.spec.dtype, [&]<class T>(T) {
    for (std::int64_t c = 0; c < y.spec.shape[1]; ++c) {
      const Channel<T> channel(attrs, args, 1, c);
      over_pixels(y.spec.shape, [&](auto n, auto h, auto w) {
        T v = channel.gamma * (y.at<T>(n, c, h, w) - channel.mean) * channel.inverse + channel.beta;
        if (attrs.flag("residual")) v += args.in.back().at<T>(n, c, h, w);
        z.at<T>(n, c, h, w) = clamped(activation, v);
      });
    }
    for (std::int64_t c = y.spec.shape[1]; c < round_up(y.spec.shape[1], y.spec.lanes); ++c)
      over_pixels(y.spec.shape, [&](auto n, auto h, auto w) { z.at<T>(n, c, h, w) = 0; });
  });
}

void grad_ref(const Attrs& attrs, const Args& args) noexcept {
  const auto terms = static_cast<std::size_t>(attrs.integer("terms"));
  const TensorView& y = args.in[terms];
  const Shape& s = y.spec.shape;
  const std::string& activation = attrs.word("activation");
  for_real(y.spec.dtype, [&]<class T>(T) {
    for (std::int64_t c = 0; c < round_up(s[1], y.spec.lanes); ++c) {
      if (c >= s[1]) {
        over_pixels(s, [&](auto n, auto h, auto w) {
          args.out[0].at<T>(n, c, h, w) = 0;
          if (attrs.flag("residual")) args.out.back().at<T>(n, c, h, w) = 0;
        });
        continue;
      }
      const Channel<T> channel(attrs, args, terms + 1, c);
      const auto normal = [&](auto n, auto h, auto w) {
        return (y.at<T>(n, c, h, w) - channel.mean) * channel.inverse;
      };
      const auto arriving = [&](auto n, auto h, auto w) {
        const T judged = attrs.flag("from_z") ? args.in.back().at<T>(n, c, h, w)
                                              : channel.gamma * normal(n, h, w) + channel.beta;
        if (!passes(activation, judged)) return T(0);
        T sum = 0;
        for (std::size_t t = 0; t < terms; ++t) sum += args.in[t].at<T>(n, c, h, w);
        return sum;
      };
      double total = 0;
      double along = 0;
      over_pixels(s, [&](auto n, auto h, auto w) {
        total += static_cast<double>(arriving(n, h, w));
        along += static_cast<double>(arriving(n, h, w) * normal(n, h, w));
      });
      std::size_t out = 1;
      const bool sums = attrs.flag("sums");
      if (sums || attrs.flag("scale")) args.out[out++].at<T>(c) = static_cast<T>(along);
      if (sums || attrs.flag("center")) args.out[out++].at<T>(c) = static_cast<T>(total);
      const double count = static_cast<double>(s[0] * s[2] * s[3]);
      const bool training = attrs.flag("training");
      over_pixels(s, [&](auto n, auto h, auto w) {
        const T g = arriving(n, h, w);
        const T rest = training
                           ? static_cast<T>(static_cast<double>(g) - total / count -
                                            static_cast<double>(normal(n, h, w)) * along / count)
                           : g;
        if (attrs.flag("residual")) args.out.back().at<T>(n, c, h, w) = g;
        args.out[0].at<T>(n, c, h, w) = channel.gamma * channel.inverse * rest;
      });
    }
  });
}

// Whether whoever reads z normalises what it loads by itself, so that z need not exist.
bool is_normalised_by_readers(const Backward& b) {
  const ValueId z = b.out(0);
  return std::ranges::any_of(b.graph.nodes(), [&](const Node& node) {
    return !node.op->absorbs.normalised.empty() && node.in[0] == z;
  });
}

// Of constants: neither statistics nor parameters want a gradient.
bool is_constant(const Backward& b) {
  const Attrs& attrs = b.node.attrs;
  if (attrs.flag("training")) return false;
  const auto first = b.wants.begin() + 1;
  return std::none_of(first, first + static_cast<std::ptrdiff_t>(parameter_count(attrs)),
                      [](bool wanted) { return wanted; });
}

// Reads no y: the sign is in z, which the next convolution keeps anyway.
Values constant_backward(const Backward& b, bool masks, bool has_residual) {
  const Attrs& attrs = b.node.attrs;
  const Attrs grad{{"epsilon", attrs.real("epsilon")},
                   {"scale", attrs.integer("scale")},
                   {"center", attrs.integer("center")},
                   {"activation", attrs.word("activation")},
                   {"residual", std::int64_t{masks && has_residual}}};
  Values in{b.dy[0]};
  for (std::size_t i = 0; i < parameter_count(attrs); ++i) in.push_back(b.in(1 + i));
  if (masks) in.push_back(b.out(0));
  const Values out = b.call("constant_norm_grad", in, grad);
  Values dx = b.none();
  dx[0] = out[0];
  if (has_residual) dx.back() = masks ? out[1] : b.dy[0];
  return dx;
}

// What bn_grad made of statistics that it took for constants, and the way through them, which all
// parts of the batch have a share in.
ValueId centred(const Backward& b, ValueId dy, ValueId along, ValueId total) {
  const Attrs& attrs = b.node.attrs;
  const Values met =
      b.call("bn_meet", {along, total}, {{"images", b.graph.spec(b.in(0)).shape[0]}});
  Values in{dy, b.in(0), met[0], met[1], b.in(1), b.in(2)};
  if (attrs.flag("scale")) in.push_back(b.in(3));
  return b.call1("bn_centre", in,
                 {{"epsilon", attrs.real("epsilon")},
                  {"scale", attrs.integer("scale")},
                  {"center", std::int64_t{0}}});
}

// Reads y, never z, unless a residual hides the sign: the convolution's output is all that is kept.
Values backward(const Backward& b) {
  const Attrs& attrs = b.node.attrs;
  const bool has_residual = attrs.flag("residual");
  const bool masks = attrs.word("activation") != "none";
  const bool masks_residual = has_residual && masks;
  if (is_constant(b) && !is_normalised_by_readers(b))
    return constant_backward(b, masks, has_residual);
  const bool meets = attrs.flag("meets");
  Attrs grad;
  for (const char* name : {"epsilon", "scale", "center", "activation", "training"})
    grad.set(name, *attrs.find(name));
  grad.set("residual", std::int64_t{masks_residual});
  grad.set("from_z", std::int64_t{masks_residual});
  if (meets) {
    grad.set("training", std::int64_t{0});
    grad.set("sums", std::int64_t{1});
  }
  Values in{b.dy[0], b.in(0)};
  for (std::size_t i = 0; i < parameter_count(attrs); ++i) in.push_back(b.in(1 + i));
  if (masks_residual) in.push_back(b.out(0));
  const Values out = b.call("bn_grad", in, grad);
  Values dx = b.none();
  std::size_t next = 0;
  dx[0] = meets ? centred(b, out[0], out[1], out[2]) : out[0];
  ++next;
  if (attrs.flag("scale")) dx[3] = out[next];
  if (meets || attrs.flag("scale")) ++next;
  if (attrs.flag("center")) dx[3 + static_cast<std::size_t>(attrs.flag("scale"))] = out[next];
  if (meets || attrs.flag("center")) ++next;
  if (has_residual) dx.back() = masks_residual ? out[next] : b.dy[0];
  return dx;
}

std::vector<AttrSchema> grad_schema() {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back({"terms", std::int64_t{1}, "how many gradients of z are given, to be summed"});
  attrs.push_back(
      {"from_z", std::int64_t{0}, "1: z is given and decides where the activation passes"});
  attrs.push_back({"sums", std::int64_t{0}, "1: both sums, which parameters there are or not"});
  return attrs;
}

std::vector<Sample> apply_samples() {
  const SampleInput c13{plain({13})};
  const SampleInput v13{plain({13}), SampleInput::Fill::positive};
  const SampleInput image{blocked(3, 13, 5, 4)};
  const std::int64_t off = 0;
  const std::int64_t on = 1;
  return {
      {.in = {image, c13, v13, c13, c13}, .attrs = {{"training", off}}},
      {.in = {image, c13, v13, c13},
       .attrs = {{"training", off}, {"scale", off}, {"activation", std::string("relu")}}},
      {.in = {image, c13, v13, c13},
       .attrs = {{"training", off}, {"center", off}, {"activation", std::string("relu6")}}},
      {.in = {image, c13, v13, image},
       .attrs = {{"training", off}, {"scale", off}, {"center", off}, {"residual", on}}},
      {.in = {image, c13, v13, c13, c13, image},
       .attrs = {{"training", off}, {"residual", on}, {"activation", std::string("relu")}}},
  };
}

std::vector<Sample> grad_samples() {
  const SampleInput c13{plain({13})};
  const SampleInput v13{plain({13}), SampleInput::Fill::positive};
  const SampleInput image{blocked(3, 13, 5, 4)};
  const std::int64_t on = 1;
  return {
      {.in = {image, image, c13, v13, c13, c13}},
      {.in = {image, image, image, c13, v13, c13, c13},
       .attrs = {{"terms", std::int64_t{2}}, {"training", std::int64_t{0}}}},
      {.in = {image, image, image, c13, v13, c13, c13, image},
       .attrs = {{"terms", std::int64_t{2}},
                 {"residual", on},
                 {"from_z", on},
                 {"activation", std::string("relu")}}},
      {.in = {image, image, c13, v13},
       .attrs = {{"scale", std::int64_t{0}},
                 {"center", std::int64_t{0}},
                 {"training", std::int64_t{0}},
                 {"sums", on}}},
  };
}

}  // namespace

extern const OpFamily bn_apply;
const OpFamily bn_apply{{
    {.name = "bn_apply",
     .doc =
         "Normalises every channel, scales and shifts it, adds a residual, applies an activation.",
     .attrs = apply_schema(),
     .infer = infer_apply,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0},
                  {.out = 0, .over = 3},
                  {.out = 0, .over = 4},
                  {.out = 0, .over = 5}},
     .cheap_to_repeat = true,
     .form = Form::normalisation,
     .absorbs = {.output_relu = true, .residual = true},
     .cost = pass_over<3>,
     .kernels = {{"simd", plain_job<kernels::bn_apply>, kShort},
                 {"ref", plain_job<apply_ref>, kAnyReal}},
     .samples = apply_samples()},
    {.name = "bn_grad",
     .doc = "Gradients of bn_apply by y, gamma, beta and the residual.",
     .attrs = grad_schema(),
     .infer = infer_grad,
     .in_place = {{.out = 0, .over = 0}, {.out = 0, .over = 1}, {.out = 0, .over = 2}},
     .absorbs = {.gradient_sum = true},
     .cost = pass_over<8>,
     .kernels = {{"simd", plain_job<kernels::bn_grad>, kShort},
                 {"ref", plain_job<grad_ref>, kAnyReal}},
     .samples = grad_samples()},
}};

}  // namespace plimsoll::ops
