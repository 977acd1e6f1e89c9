#include "kernels/window.h"

#include <gtest/gtest.h>

namespace plimsoll::kernels {
namespace {

// Every small slide, compared with counting one by one.
template <class Body>
void for_each_slide(Body body) {
  for (std::int64_t in : {1, 2, 5, 8})
    for (std::int64_t kernel : {1, 2, 3, 5})
      for (std::int64_t stride : {1, 2, 3})
        for (std::int64_t dilation : {1, 2})
          for (std::int64_t before = -1; before < 4; ++before)
            for (std::int64_t out : {1, 3, 6})
              body(Slide{.in = in,
                         .out = out,
                         .kernel = kernel,
                         .stride = stride,
                         .dilation = dilation,
                         .before = before});
}

TEST(Slide, TapsAreThoseThatReadRealCells) {
  for_each_slide([](const Slide& s) {
    for (std::int64_t o = 0; o < s.out; ++o) {
      const Range taps = s.taps(o);
      for (std::int64_t k = 0; k < s.kernel; ++k)
        ASSERT_EQ(k >= taps.first && k < taps.last, s.has(s.at(o, k)));
    }
  });
}

TEST(Slide, OutputsOfATapAreThoseThatReadRealCells) {
  for_each_slide([](const Slide& s) {
    for (std::int64_t k = 0; k < s.kernel; ++k) {
      const Range outputs = s.outputs(k);
      for (std::int64_t o = 0; o < s.out; ++o)
        ASSERT_EQ(o >= outputs.first && o < outputs.last, s.has(s.at(o, k)));
    }
  });
}

TEST(Slide, InnerOutputsReadNoPadding) {
  for_each_slide([](const Slide& s) {
    const Range inner = s.inner();
    for (std::int64_t o = 0; o < s.out; ++o) {
      bool whole = true;
      for (std::int64_t k = 0; k < s.kernel; ++k) whole = whole && s.has(s.at(o, k));
      ASSERT_EQ(o >= inner.first && o < inner.last, whole);
    }
  });
}

}  // namespace
}  // namespace plimsoll::kernels
