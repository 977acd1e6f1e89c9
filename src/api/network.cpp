#include <plimsoll/network.h>

#include "zoo/zoo.h"

namespace plimsoll::v1 {

std::vector<KnownNetwork> known_networks() {
  std::vector<KnownNetwork> networks;
  for (const zoo::Network& network : zoo::networks())
    networks.push_back({.name = std::string(network.name),
                        .about = std::string(network.about),
                        .image = network.image});
  return networks;
}

}  // namespace plimsoll::v1
