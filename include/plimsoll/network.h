// Which network is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::v1 {

// A network of the zoo, and its sizes. What is 0 or empty is as the data says, or else the
// network's own.
struct Network {
  std::string name = "inception_mini";
  std::string image;          // "299", "200x300": height x width
  std::int64_t channels = 0;  // 1 or 3
  std::int64_t classes = 0;   // width of the head; at least those of the data
  double dropout = -1;        // before the head; below 0: the network's own
  bool auxiliary = false;     // add the second head, where the network has one
};

struct KnownNetwork {
  std::string name;
  std::string about;
  std::int64_t image = 0;  // the size it was made for
};
std::vector<KnownNetwork> known_networks();

}  // namespace plimsoll::v1
