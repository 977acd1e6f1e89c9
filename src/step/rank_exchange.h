// The exchanges of a trainer's tapes, carried by a group of ranks.
#pragma once

#include <vector>

#include "dist/exchange.h"
#include "exec/exchange_carrier.h"

namespace plimsoll {

class RankExchange final : public ExchangeCarrier {
 public:
  // `slots` are those that every sum has (PartRequest::slots). The group outlives it.
  RankExchange(dist::Group& group, const dist::Staging& staging, int slots);
  ~RankExchange() override;
  RankExchange(const RankExchange&) = delete;
  RankExchange& operator=(const RankExchange&) = delete;

  // What ranks hold of the batch that is trained from now on; stays.
  void begin_batch(const dist::Holdings& holdings) { holdings_ = &holdings; }
  const dist::SumCourier& courier() const { return courier_; }

  void prepare(std::size_t tape, std::span<const Exchange> exchanges, std::byte* arena) override;
  void begin_step(std::size_t tape) noexcept override;
  void post() noexcept override;
  void wait_for(std::size_t count) noexcept override { courier_.wait_for(count); }
  void end_step() noexcept override { courier_.end_step(); }

 private:
  dist::Group& group_;
  const std::size_t slots_;
  std::vector<std::vector<dist::Bucket>> buckets_;  // per tape
  const dist::Holdings* holdings_ = nullptr;
  dist::SumCourier courier_;
};

}  // namespace plimsoll
