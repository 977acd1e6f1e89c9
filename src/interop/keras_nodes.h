// Calls of a Functional model's layers, in an order in which they can be made.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plimsoll::interop {

struct NodeLayer {
  std::string name;
  const nlohmann::json* inbound;  // its inbound_nodes; null: none
  bool is_model = false;
};

struct OrderedNode {
  std::size_t layer = 0;            // of those that were given
  std::vector<std::size_t> inputs;  // nodes before this one
};

struct NodeOrder {
  std::vector<OrderedNode> nodes;  // all that the output needs
  std::size_t output = 0;          // a node
};

// `inputs` and `outputs`: input_layers and output_layers, one each. Reads inbound_nodes of Keras 1
// to 3. DataError or UsageError that name `where`.
NodeOrder order_nodes(const std::vector<NodeLayer>& layers, const nlohmann::json* inputs,
                      const nlohmann::json* outputs, const std::string& where);

}  // namespace plimsoll::interop
