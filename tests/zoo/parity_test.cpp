// Networks against Keras, and torchvision's against PyTorch, in double precision; those that take
// long are in parity_slow_test.cpp.
#include "tests/support/parity.h"

#include <set>
#include <string_view>

#include "tests/support/mini_networks.h"
#include "tests/support/sanitized.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

class Parity : public testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json golden_ = tests::load_golden(GetParam());
};

TEST_P(Parity, ParameterCountIsKeras) { expect_parameter_count(golden_); }

TEST_P(Parity, LossLogitsAndEveryGradientAreKeras) {
  expect_logits_and_gradients(golden_, gradient_tolerance(golden_));
}

TEST_P(Parity, LossLogitsAndEveryGradientAreKerasInBlocksOf16) {
  expect_logits_and_gradients_in_wide_blocks(golden_);
}

TEST_P(Parity, TenStepsOfEachOptimizerAreKeras) { expect_ten_steps(golden_); }

INSTANTIATE_TEST_SUITE_P(Small, Parity, mini_networks(), network_name);
constexpr std::array kLarge{"googlenet", "mobilenet_v2",       "inception_v3",
                            "xception",  "efficientnet_lite0", "resnet50_torch"};
// The large ones take a quarter of an hour under AddressSanitizer: there, the two that have every
// kind of layer between them.
auto large_networks() {
  return testing::ValuesIn(kLarge.begin(), kAddressSanitized ? kLarge.begin() + 2 : kLarge.end());
}
INSTANTIATE_TEST_SUITE_P(Large, Parity, large_networks(), network_name);

// A golden file that no test loads would vouch for nothing.
TEST(Zoo, EveryNetworkIsComparedWithKeras) {
  std::set<std::string_view> compared(kLarge.begin(), kLarge.end());
  compared.insert(kSlowToCompare.begin(), kSlowToCompare.end());
  compared.insert({"inception_mini", "xception_mini", "resnet20"});  // mini_networks()
  for (const char* file : {"retinanet", "fasterrcnn"}) {             // their own parity tests
    const nlohmann::json detectors = tests::load_golden(file)["networks"];
    for (const auto& [name, golden] : detectors.items())
      compared.insert(zoo::find_network(name).name);
  }
  for (const zoo::Network& network : zoo::networks()) EXPECT_EQ(compared.count(network.name), 1U);
  EXPECT_EQ(compared.size(), zoo::networks().size());
}

}  // namespace
}  // namespace plimsoll
