// One call of an op as a line of text: what its kernels are chosen and priced by.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace plimsoll {

enum class ImageCount : std::uint8_t {
  counted,
  any,  // calls that differ in the number of images alone have one text
};

// Op, attributes, and specs of all operands.
std::string call_text(const Graph& graph, const Node& node, ImageCount images);

}  // namespace plimsoll
