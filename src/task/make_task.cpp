#include "task/make_task.h"

#include "base/error.h"
#include "task/classification.h"
#include "task/multi_label.h"
#include "task/regression.h"

namespace plimsoll {

namespace {

// Targets that have one loss take no other, and neither weights nor mixed pictures.
void check_loss(const LossOptions& loss, const char* targets, const std::string& only) {
  const bool is_default = loss.name == LossOptions().name;
  if ((loss.name != only && !is_default) || loss.label_smoothing > 0)
    throw UsageError({.where = loss.label_smoothing > 0 ? "--label-smoothing" : "--loss",
                      .got = loss.label_smoothing > 0 ? "with " + std::string(targets) : loss.name,
                      .expected = "expected " + only + " for data with " + targets});
  if (loss.weighted || loss.mixed)
    throw UsageError({.where = loss.weighted ? "--class-weights" : "--augment",
                      .got = loss.weighted ? "class weights" : "mixup",
                      .expected = std::string("expected none with ") + targets});
}

}  // namespace

TaskPtr make_task(const LossOptions& loss, const TaskData& data) {
  if (data.targets == TargetKind::labels) {
    check_loss(loss, "several labels", "binary_crossentropy");
    return make_multi_label({.auxiliary_weight = loss.auxiliary_weight, .class_names = data.names});
  }
  if (data.targets == TargetKind::numbers) {
    check_loss(loss, "numbers", "mse");
    return make_regression({.auxiliary_weight = loss.auxiliary_weight, .names = data.names});
  }
  return make_classification({.loss = loss.name,
                              .label_smoothing = loss.label_smoothing,
                              .auxiliary_weight = loss.auxiliary_weight,
                              .weighted = loss.weighted,
                              .mixed = loss.mixed,
                              .classes = data.outputs,
                              .class_names = data.names,
                              .class_weights = data.class_weights});
}

}  // namespace plimsoll
