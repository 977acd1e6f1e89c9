#include "task/make_task.h"

#include "task/classification.h"

namespace plimsoll {

TaskPtr make_task(const LossOptions& loss, const TaskData& data) {
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
