// Which network, and of what size.
#pragma once

#include <cstdint>
#include <string>

#include "nn/nn.h"
#include "step/step_graph.h"
#include "zoo/zoo.h"

namespace plimsoll::job {

struct ModelSettings {
  std::string model = "inception_v3";
  std::int64_t batch = 32;
  bool batch_max = false;     // the largest that fits the budget; `batch` is then found
  std::string image;          // "299", "200x300"; empty: the network's own
  std::int64_t channels = 0;  // 0: the network's own
  std::int64_t classes = 0;   // 0: the network's own
  double dropout = -1;        // below 0: the network's own
  bool auxiliary = false;     // add the second head, where the network has one

  // A number or "max".
  void set_batch(const std::string& text);
  // Checked values. UsageError names the option.
  const zoo::Network& network() const { return zoo::find_network(model); }
  nn::Input input() const;
  std::int64_t class_count() const;
  NetworkFactory factory() const;
};

// "299" or "200x300"; UsageError on anything else.
nn::Size2 parse_image_size(const std::string& text);

}  // namespace plimsoll::job
