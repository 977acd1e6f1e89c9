// Moving averages of weights.
#pragma once

#include <utility>

#include "step/shards.h"

namespace plimsoll {

// Averages begin as the weights they follow, which every rank has.
void start_averages(const Session& session, const StepGraph& step);
// The same inside of Shards::lead(), by rank 0, as the weights that it has.
void start_averages(const Shards& shards);

// The averages, where there are any, are in the weights' place and the weights in theirs as long as
// this lives. Where ranks share them out, all make and end it at the same time.
class AveragesInPlace {
 public:
  explicit AveragesInPlace(Shards shards);
  // Without put_back() before it, the weights of a run that fails: of those that ranks share out
  // this one's shards alone.
  ~AveragesInPlace() {
    if (is_in_place_) exchange();
  }
  AveragesInPlace(const AveragesInPlace&) = delete;
  AveragesInPlace& operator=(const AveragesInPlace&) = delete;

  // DataError where a rank is gone.
  void put_back();

 private:
  void exchange() const;

  const Shards shards_;
  bool is_in_place_ = true;
};

}  // namespace plimsoll
