#include "tensor/conv_layout.h"

namespace plimsoll {

Spec conv_kernel_spec(const Spec& x, std::int64_t filters, std::int64_t kh, std::int64_t kw,
                      std::int64_t groups, std::int64_t plain_lanes) {
  const std::int64_t lanes = x.layout == Layout::blocked ? x.lanes : plain_lanes;
  const std::int64_t channels = x.shape[1] / groups;
  const bool whole_blocks = filters / groups % lanes == 0 && channels % lanes == 0;
  Layout layout = Layout::plain;
  if (x.layout == Layout::plain)
    layout = Layout::stem_kernel;
  else if (groups == 1 || whole_blocks)
    layout = Layout::kernel;
  return {.dtype = widened(x.dtype),
          .shape = {filters, channels, kh, kw},
          .layout = layout,
          .lanes = lanes};
}

}  // namespace plimsoll
