// An image tensor moved between the plain and the blocked layout; the elements stay the same.
#include <algorithm>

#include "ops/elements.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_real(in[0]);
  const std::string& to = attrs.word("to");
  if (to != "blocked" && to != "plain") refuse("to is '" + to + "'", "blocked or plain is needed");
  const Layout from = to == "blocked" ? Layout::plain : Layout::blocked;
  if (in[0].shape.rank() != 4 || in[0].layout != from)
    refuse("input is " + to_string(in[0]),
           "a " + std::string(name_of(from)) + " [N,C,H,W] tensor is needed");
  Spec out = in[0];
  out.layout = to == "blocked" ? Layout::blocked : Layout::plain;
  if (to == "blocked") out.lanes = image_lanes(attrs);
  return {out};
}

// The planes of a block at a time: the blocked side is walked in order.
void move_planes(const Attrs& attrs, const Args& args) noexcept {
  const bool into_blocked = attrs.word("to") == "blocked";
  const TensorView& wide = into_blocked ? args.out[0] : args.in[0];
  const TensorView& flat = into_blocked ? args.in[0] : args.out[0];
  const Shape& s = wide.spec.shape;
  const std::int64_t pixels = s[2] * s[3], lanes = wide.spec.lanes;
  for_element(wide.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t n = 0; n < s[0]; ++n)
      for (std::int64_t block = 0; block < wide.spec.blocks(); ++block) {
        T* cells = wide.image<T>(n) + block * lanes * pixels;
        T* planes = flat.image<T>(n) + block * lanes * pixels;
        const std::int64_t used = std::min(lanes, s[1] - block * lanes);
        for (std::int64_t p = 0; p < pixels; ++p)
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            if (!into_blocked && lane < used)
              planes[lane * pixels + p] = cells[p * lanes + lane];
            else if (into_blocked)
              cells[p * lanes + lane] = lane < used ? planes[lane * pixels + p] : T(0);
          }
      }
  });
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(
        x.spec, [&](auto n, auto c, auto h, auto w) { y.at<T>(n, c, h, w) = x.at<T>(n, c, h, w); });
    if (y.spec.layout != Layout::blocked) return;
    Spec padded = y.spec;
    padded.shape = {y.spec.shape[0], round_up(y.spec.shape[1], y.spec.lanes), y.spec.shape[2],
                    y.spec.shape[3]};
    for_each_element(padded, [&](auto n, auto c, auto h, auto w) {
      if (c >= y.spec.shape[1]) y.at<T>(n, c, h, w) = 0;
    });
  });
}

Values backward(const Backward& b) {
  const bool into_blocked = b.node.attrs.word("to") == "blocked";
  return {b.call1("reorder", {b.dy[0]},
                  {{"to", std::string(into_blocked ? "plain" : "blocked")},
                   {"lanes", b.graph.spec(into_blocked ? b.out(0) : b.in(0)).lanes}})};
}

std::vector<Sample> samples() {
  const Attrs to_plain{{"to", std::string("plain")}};
  return {{.in = {{plain({3, 3, 5, 7})}}},
          {.in = {{plain({2, 21, 4, 3})}}},
          {.in = {{blocked(3, 3, 5, 7)}}, .attrs = to_plain},
          {.in = {{blocked(2, 21, 4, 3)}}, .attrs = to_plain}};
}

}  // namespace

extern const OpFamily reorder;
const OpFamily reorder{{
    {.name = "reorder",
     .doc = "The same image tensor in another layout.",
     .attrs = {{"to", std::string("blocked"), "blocked or plain"}, image_lanes_schema()},
     .infer = infer,
     .backward = backward,
     .cheap_to_repeat = true,
     .cost = pass_over<0>,
     .kernels = {{"loop", plain_job<move_planes>, kAnyElement}, {"ref", plain_job<ref>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
