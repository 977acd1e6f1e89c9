#include "machine/kernel_library.h"

#include <dnnl.h>
#include <fmt/format.h>

namespace plimsoll {

std::string kernel_library_text() {
  const dnnl_version_t* const version = dnnl_version();
  return fmt::format("{}.{}.{} ({}), instructions {:#x}", version->major, version->minor,
                     version->patch, version->hash,
                     static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
}

}  // namespace plimsoll
