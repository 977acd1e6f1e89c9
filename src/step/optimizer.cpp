#include "step/optimizer.h"

#include "base/error.h"
#include "base/text.h"
#include "ops/calls.h"

namespace plimsoll {

std::vector<std::string> optimizer_names() { return {"sgd", "rmsprop", "adam", "adamw"}; }

OptimizerOp optimizer_op(const OptimizerOptions& options) {
  const auto check = [](bool good, const char* option, double value, const char* expected) {
    if (!good)
      throw UsageError({.where = option,
                        .got = std::to_string(value),
                        .expected = std::string("expected ") + expected});
  };
  check(options.momentum >= 0 && options.momentum < 1, "--momentum", options.momentum,
        "0 up to, not including, 1");
  check(options.weight_decay >= 0, "--weight-decay", options.weight_decay, "0 or more");
  check(options.clip_norm >= 0, "--clip-norm", options.clip_norm, "0 (no limit) or more");
  OptimizerOp result;
  result.attrs = {{"weight_decay", options.weight_decay}, {"clip_norm", options.clip_norm}};
  if (options.name == "sgd") {
    result.op = ops::kSgd;
    result.attrs.set("momentum", options.momentum);
    result.attrs.set("nesterov", std::int64_t{options.nesterov});
    if (options.momentum > 0) result.slots = {"momentum"};
  } else if (options.name == "rmsprop") {
    result.op = ops::kRmsprop;
    result.attrs.set("momentum", options.momentum);
    result.slots = {"velocity"};
    if (options.momentum > 0) result.slots.emplace_back("momentum");
  } else if (options.name == "adam" || options.name == "adamw") {
    result.op = ops::kAdam;
    result.attrs.set("decoupled", std::int64_t{options.name == "adamw"});
    result.slots = {"momentum", "velocity"};
    result.needs_step = true;
  } else {
    throw UsageError({.where = "--optimizer",
                      .got = "there is no optimizer '" + options.name + "'",
                      .expected = "expected one of " + join(optimizer_names(), ", "),
                      .hint = did_you_mean(nearest(options.name, optimizer_names()))});
  }
  return result;
}

}  // namespace plimsoll
