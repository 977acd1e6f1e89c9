#include "machine/primitive_cache.h"

#include <dnnl.h>

#include "base/error.h"

namespace plimsoll {

void use_no_primitive_cache() {
  expect(dnnl_set_primitive_cache_capacity(0) == dnnl_success,
         "oneDNN's cache can be switched off");
}

}  // namespace plimsoll
