#include "ops/table.h"

namespace plimsoll {

namespace ops {
#define PLIMSOLL_OP(name) extern const OpFamily name;
#include "ops/table.inc"
#undef PLIMSOLL_OP
}  // namespace ops

const OpTable& op_table() {
  static const OpTable table({
#define PLIMSOLL_OP(name) &ops::name,
#include "ops/table.inc"
#undef PLIMSOLL_OP
  });
  return table;
}

}  // namespace plimsoll
