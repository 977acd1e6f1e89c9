// Whether the calling thread is inside a step, where nothing may allocate.
#pragma once

namespace plimsoll {

// Marks its lifetime as part of a step, for this thread. What cares (a program's allocator, a test)
// asks in_step(). Costs an increment.
class StepRegion {
 public:
  StepRegion() { ++depth_; }
  ~StepRegion() { --depth_; }
  StepRegion(const StepRegion&) = delete;
  StepRegion& operator=(const StepRegion&) = delete;

  static bool in_step() { return depth_ > 0; }

 private:
  static inline constinit thread_local int depth_ = 0;
};

}  // namespace plimsoll
