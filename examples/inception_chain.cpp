// The classic Inception block (1x1, 3x3 reduced, 5x5 reduced, pool projection), chained n times: a
// network of your own, trained for a few steps on numbers made up here.  Usage:
// example_inception_chain [n]
#include <cstdio>
#include <cstdlib>

#include "ops/table.h"
#include "step/trainer.h"

using namespace plimsoll;

ValueId block(nn::Builder& net, ValueId x) {
  const auto conv = [&](ValueId v, std::int64_t filters, nn::Size2 kernel) {
    return net.relu(net.batch_norm(net.conv2d(v, filters, kernel, {.bias = false})));
  };
  const ValueId one = conv(x, 16, 1);
  const ValueId three = conv(conv(x, 16, 1), 24, 3);
  const ValueId five = conv(conv(x, 8, 1), 8, 5);
  const ValueId pool = conv(net.max_pool(x, 3, {.stride = 1, .padding = nn::Padding::same}), 8, 1);
  return net.concat({one, three, five, pool});
}

int main(int count, char** words) {
  const int blocks = count > 1 ? std::atoi(words[1]) : 3;
  const NetworkFactory network = [&](nn::Builder& net) {
    ValueId x = net.image();
    for (int i = 0; i < blocks; ++i) x = block(net, x);
    return nn::Heads{net.dense(net.global_average_pool(x), 10)};
  };
  Trainer trainer(op_table(), network,
                  {.input = {.batch = 8, .channels = 3, .image = 32}, .train_batches = {8}});
  trainer.open();
  for (int step = 0; step < 20; ++step) {
    const TensorView image = trainer.image(Purpose::train, 8);
    for (std::int64_t i = 0; i < 8 * 3 * 32 * 32; ++i)
      image.as<float>()[i] = static_cast<float>(i * 7 % 101) / 50.0F - 1.0F;
    for (int n = 0; n < 8; ++n)
      trainer.tensors(Purpose::train, 8).at("label").at<std::int32_t>(n) = n;
    const StepResult result = trainer.train_step(8, 0.05F, step, 8 * step);
    if (step % 5 == 4) std::printf("step %d: loss %.4f\n", step + 1, result.loss);
  }
}
