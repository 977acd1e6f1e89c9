#include <plimsoll/network.h>

#include "zoo/zoo.h"

namespace plimsoll::v1 {

std::vector<KnownNetwork> known_networks() {
  std::vector<KnownNetwork> networks;
  for (const zoo::Network& network : zoo::networks())
    networks.push_back({.name = network.name, .about = network.about, .image = network.image.h});
  return networks;
}

}  // namespace plimsoll::v1
