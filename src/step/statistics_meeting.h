// What all parts of a batch know of a BatchNorm, from what each of them knows.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/group.h"
#include "dist/tree.h"
#include "exec/part_meeting.h"

namespace plimsoll {

// Every rank gets the numbers of all parts and adds them up in the order of parts, in f64: so it
// does not matter who computed them. Allocates nothing after it was made.
class StatisticsMeeting final : public PartMeeting {
 public:
  // `channels`: of every node at which parts meet, in order; `parts`: the most a batch has. The
  // group is null where one rank has them all, and outlives this.
  StatisticsMeeting(dist::Group* group, std::vector<std::int64_t> channels, int parts);

  // Of that batch from now on.
  void begin_batch(const dist::Parts& parts) { parts_ = parts; }
  void meet(const Node& node, std::span<const TensorView> outs) noexcept override;
  // By a rank that has no part of the batch: it hears what the others tell each other.
  void attend() noexcept;

  // What one of these holds.
  static std::int64_t bytes_for(const std::vector<std::int64_t>& channels, int parts, int ranks);

 private:
  // Finds the numbers of every part: two for each channel.
  void settle_numbers(std::int64_t channels) noexcept;
  // Tells `own_` and hears `all_`; false where a rank is gone.
  bool exchange(std::int64_t channels) noexcept;
  int rows() const;  // parts that a rank has at most

  dist::Group* group_;
  const std::vector<std::int64_t> channels_;
  dist::Parts parts_;
  std::vector<float> own_;
  std::vector<float> all_;             // of every rank, as many rows
  std::vector<const float*> numbers_;  // of every part, in one of these
};

}  // namespace plimsoll
