// References of the ops of detectors; see op_references.h.
#pragma once

#include <map>
#include <string_view>

#include "tests/support/op_references.h"

namespace plimsoll {

const std::map<std::string_view, OpReference>& detection_references();

}  // namespace plimsoll
