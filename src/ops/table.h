// All ops. Every file of this folder defines one OpFamily named like the file; the build lists
// them.
#pragma once

#include "graph/op.h"

namespace plimsoll {

const OpTable& op_table();

}  // namespace plimsoll
