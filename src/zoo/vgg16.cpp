#include <string>

#include "zoo/zoo.h"

namespace plimsoll::zoo {

Heads vgg16(nn::Builder& net, const Options& options) {
  ValueId x = net.image();
  struct Block {
    std::int64_t filters;
    int convolutions;
  };
  int number = 0;
  for (const Block& block : {Block{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    const std::string name = "block" + std::to_string(++number);
    for (int c = 1; c <= block.convolutions; ++c)
      x = net.conv2d(x, block.filters, 3,
                     {.activation = "relu", .name = name + "_conv" + std::to_string(c)});
    x = net.max_pool(x, 2, {.name = name + "_pool"});
  }
  x = net.flatten(x, "flatten");
  x = net.dense(x, 4096, "fc1", "relu");
  x = net.dense(x, 4096, "fc2", "relu");
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
