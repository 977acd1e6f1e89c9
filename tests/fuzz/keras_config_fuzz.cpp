// Any bytes as Keras's description of a network: an error, or a network that can be built or says
// why not.
#include "interop/keras_network.h"

#include <string_view>

#include "base/error.h"
#include "ops/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plimsoll::zoo::Network network =
        plimsoll::interop::make_network({reinterpret_cast<const char*>(data), size}, "description");
    plimsoll::nn::Builder net(plimsoll::op_table(), {.channels = network.channels, .image = 16},
                              plimsoll::nn::Mode::training);
    network.build(net, {.classes = network.classes + 1});
    plimsoll::interop::keras_description("again", net.layers(), "softmax");
  } catch (const plimsoll::Error&) {
  }
  return 0;
}
