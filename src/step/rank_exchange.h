// The exchanges of a trainer's tapes, carried by a group of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/exchange.h"
#include "exec/exchange_carrier.h"

namespace plimsoll {

// When sums leave. All but the first are for measuring what the first is worth.
enum class Exchanging : std::uint8_t {
  overlapped,  // while backward runs
  behind,      // once it is done
  apart,       // never: every rank goes on with its own, and waits for nobody
};

class RankExchange final : public ExchangeCarrier {
 public:
  // `slots` are those that every sum has (PartRequest::slots). The group outlives it.
  RankExchange(dist::Group& group, const dist::Staging& staging, int slots);
  ~RankExchange() override;
  RankExchange(const RankExchange&) = delete;
  RankExchange& operator=(const RankExchange&) = delete;

  // What ranks hold of the batch that is trained from now on; stays.
  void begin_batch(const dist::Holdings& holdings) { holdings_ = &holdings; }
  // From the next step on; the same on all ranks.
  void exchange_as(Exchanging mode) { mode_ = mode; }
  Exchanging mode() const { return mode_; }
  const dist::TensorCourier& courier() const { return courier_; }

  void prepare(std::size_t tape, std::span<const Exchange> exchanges, std::byte* arena) override;
  void begin_step(std::size_t tape) noexcept override;
  void post() noexcept override;
  void wait_for(std::size_t count) noexcept override;
  void end_step() noexcept override;

 private:
  void post_held() noexcept;

  dist::Group& group_;
  const std::size_t slots_;
  Exchanging mode_ = Exchanging::overlapped;
  std::size_t held_ = 0;                            // posts that wait for the end of backward
  std::vector<std::vector<dist::Bucket>> buckets_;  // per tape
  const dist::Holdings* holdings_ = nullptr;
  dist::TensorCourier courier_;
};

}  // namespace plimsoll
