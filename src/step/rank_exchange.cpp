#include "step/rank_exchange.h"

namespace plimsoll {

RankExchange::RankExchange(dist::Group& group, const dist::Staging& staging, int slots)
    : group_(group),
      slots_(static_cast<std::size_t>(slots)),
      courier_(group.rank(), group.ranks(), staging) {
  group_.carry_for(&courier_);
}

RankExchange::~RankExchange() { group_.carry_for(nullptr); }

void RankExchange::prepare(std::size_t tape, std::span<const Exchange> exchanges,
                           std::byte* arena) {
  if (buckets_.size() <= tape) buckets_.resize(tape + 1);
  const auto at = [&](const Exchange::Segment& segment) {
    return reinterpret_cast<float*>(arena + segment.offset);
  };
  for (const Exchange& exchange : exchanges) {
    const std::size_t slots = exchange.gathers ? 0 : slots_;
    const std::size_t sums = exchange.segments.size() / (1 + slots);
    dist::Bucket bucket{.tensors = {}, .gathers = exchange.gathers};
    for (std::size_t i = 0; i < sums; ++i) {
      const Exchange::Segment& segment = exchange.segments[i];
      dist::SummedTensor tensor{
          .elements = segment.bytes / std::int64_t{sizeof(float)}, .sum = at(segment), .slots = {}};
      for (std::size_t s = 0; s < slots; ++s)
        tensor.slots.push_back(at(exchange.segments[sums + i * slots + s]));
      bucket.elements += tensor.elements;
      bucket.tensors.push_back(std::move(tensor));
    }
    buckets_[tape].push_back(std::move(bucket));
  }
}

void RankExchange::begin_step(std::size_t tape) noexcept {
  if (mode_ != Exchanging::apart) courier_.begin_step(*holdings_, buckets_[tape]);
}

void RankExchange::post() noexcept {
  if (mode_ == Exchanging::apart) return;
  ++held_;
  if (mode_ == Exchanging::overlapped) post_held();
}

void RankExchange::post_held() noexcept {
  for (; held_ > 0; --held_) courier_.post();
  group_.wake();
}

void RankExchange::wait_for(std::size_t count) noexcept {
  if (mode_ == Exchanging::apart) return;
  post_held();
  courier_.wait_for(count);
}

void RankExchange::end_step() noexcept {
  if (mode_ == Exchanging::apart) return;
  post_held();
  courier_.end_step();
}

}  // namespace plimsoll
