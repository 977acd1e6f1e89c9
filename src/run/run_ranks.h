// What the ranks of a run decide together, and what rank 0, which writes and speaks for all, tells
// the others. A run without others decides alone.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dist/rank_place.h"
#include "dist/word.h"
#include "run/rank_paces.h"
#include "run/run_event.h"
#include "run/run_state.h"
#include "run/run_status.h"
#include "step/trainer.h"

namespace plimsoll {

// The weights of ranks are no longer the same: memory or a processor fails. The checkpoint stands.
class ReplicaError : public DataError {
  using DataError::DataError;
};

// Rank 0's, by all; with null one's own. Of tensors all that last and are the same on every rank:
// see over_lasting().
void share_tensors(dist::Group* group, const Trainer& trainer);
std::string share_text(dist::Group* group, std::string text);
RunState share_state(dist::Group* group, const RunState& state);

// For the thread of the run, but tell(), beat(), stall_text(), lost_text() and status(), which are
// for any.
class RunRanks {
 public:
  // `group` may be null.
  explicit RunRanks(dist::Group* group) : group_(group) {}

  // Whether this rank writes files and speaks: rank 0, and whoever is alone.
  bool leads() const { return dist::leads(group_); }
  bool has_others() const { return group_ != nullptr; }
  dist::Group* group() const { return group_; }

  // What all decided before a step.
  struct Decision {
    bool stops = false;
    bool saves = false;
    std::vector<std::string> news;  // "rank 2 on b: ..."; rank 0's alone, to be told
  };
  // `mine` without its checksum and its flags of texts. `failure`: why this rank cannot do the
  // step; then all throw the DataError of the lowest rank that cannot, after calling
  // `before_failing`. ReplicaError by all where the weights differ, which are compared every 100
  // steps.
  Decision decide(dist::Word mine, const Trainer& trainer, const std::optional<Complaint>& failure,
                  const std::function<void()>& before_failing);
  // ReplicaError by all where they differ.
  void check_weights(const Trainer& trainer, std::int64_t step);
  // What rank 0 found, by all.
  bool settle(bool found);
  // The first rank's that has one, by all.
  std::optional<std::string> first_of(const std::optional<std::string>& mine);

  // Something of this rank that people are to hear of, through rank 0.
  void tell(std::string text);
  // Others hear of it.
  void beat(std::int64_t step, const std::string& doing);
  // Who is waited for, in words; empty where nobody is behind.
  std::string stall_text(std::int64_t step) const;

  // Of whom nothing was heard for so long, in words; empty where there is nobody.
  std::string lost_text(double seconds) const;

  // What every rank was, for the report: by rank 0, and the others join in.
  std::vector<RankReport> gather(const RankReport& mine);
  // Rank 0's words for ranks that were slower than the others by a tenth over some 50 steps; each
  // once.
  std::vector<std::string> find_stragglers();
  // Where every rank is, as rank 0 hears of it; empty for others, and for one alone. By any thread.
  std::vector<RankStatus> status() const;

 private:
  const std::vector<dist::Word>& exchange(const dist::Word& mine);
  void compare_weights();
  std::vector<std::string> gather_news(const std::vector<std::string>& mine);

  dist::Group* group_;
  std::vector<std::byte> gathered_;
  std::vector<dist::Word> words_;
  RankPaces paces_;
  mutable std::mutex mutex_;
  // These are guarded by mutex_.
  std::vector<std::string> untold_;
  dist::Beat beat_;  // this rank's last
};

}  // namespace plimsoll
