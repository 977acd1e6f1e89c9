// References of the ops of detectors; see op_references.h.
#pragma once

#include <map>
#include <string_view>

#include "tests/support/op_references.h"

namespace plimsoll::reference {

// Ops over anchors; ops over regions of interest.
const std::map<std::string_view, OpReference>& anchor_references();
const std::map<std::string_view, OpReference>& roi_references();

}  // namespace plimsoll::reference
