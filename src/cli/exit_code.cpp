#include "cli/exit_code.h"

#include <new>

#include "base/error.h"
#include "run/run_ranks.h"

namespace plimsoll::cli {

int exit_code_of(const std::exception& error) {
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return kUsage;
  if (dynamic_cast<const BudgetError*>(&error) != nullptr) return kDoesNotFit;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kDoesNotFit;
  if (dynamic_cast<const ReplicaError*>(&error) != nullptr) return kStoppedByWatchdog;
  return kFailed;
}

}  // namespace plimsoll::cli
