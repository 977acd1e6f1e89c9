#include "step/statistics_meeting.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

int most_rows(int parts, int ranks) { return (parts + ranks - 1) / ranks; }

std::int64_t most_numbers(const std::vector<std::int64_t>& channels, int rows) {
  std::int64_t most = 0;
  for (const std::int64_t count : channels) most = std::max(most, count);
  return 2 * most * rows;
}

}  // namespace

StatisticsMeeting::StatisticsMeeting(dist::Group* group, std::vector<std::int64_t> channels,
                                     int parts)
    : group_(group), channels_(std::move(channels)) {
  const int ranks = group_ == nullptr ? 1 : group_->ranks();
  const std::int64_t numbers = most_numbers(channels_, most_rows(parts, ranks));
  numbers_.reserve(static_cast<std::size_t>(parts));
  own_.resize(static_cast<std::size_t>(numbers));
  if (ranks > 1) all_.resize(static_cast<std::size_t>(numbers * ranks));
}

std::int64_t StatisticsMeeting::bytes_for(const std::vector<std::int64_t>& channels, int parts,
                                          int ranks) {
  const std::int64_t numbers = most_numbers(channels, most_rows(parts, ranks));
  return numbers * (ranks > 1 ? 1 + ranks : 1) * std::int64_t{sizeof(float)};
}

int StatisticsMeeting::rows() const {
  return most_rows(parts_.count, group_ == nullptr ? 1 : group_->ranks());
}

bool StatisticsMeeting::exchange(std::int64_t channels) noexcept {
  if (group_ == nullptr) return true;
  const auto numbers = static_cast<std::size_t>(2 * channels * rows());
  try {
    group_->all_gather(std::as_bytes(std::span(own_).first(numbers)),
                       std::as_writable_bytes(std::span(all_).first(
                           numbers * static_cast<std::size_t>(group_->ranks()))));
    return true;
  } catch (const Error&) {
    return false;  // whoever asks the group next is told
  }
}

void StatisticsMeeting::settle_numbers(std::int64_t channels) noexcept {
  const int ranks = group_ == nullptr ? 1 : group_->ranks();
  const float* from = group_ == nullptr ? own_.data() : all_.data();
  numbers_.clear();
  for (int rank = 0; rank < ranks; ++rank)
    for (int row = 0; row < dist::range_of(rank, ranks, parts_.count).size(); ++row)
      numbers_.push_back(from + (rank * rows() + row) * 2 * channels);
}

void StatisticsMeeting::meet(const Node& node, std::span<const TensorView> outs) noexcept {
  const std::int64_t channels = outs[0].spec.shape[0];
  float* to = own_.data();
  for (const TensorView& out : outs) to = std::copy_n(out.as<float>(), channels, to);
  if (!exchange(channels)) return;
  settle_numbers(channels);
  const bool has_moments = node.attrs.integer("images") == 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    double first = 0;
    for (int part = 0; part < parts_.count; ++part)
      first +=
          parts_.share(part) * static_cast<double>(numbers_[static_cast<std::size_t>(part)][c]);
    double second = 0;
    for (int part = 0; part < parts_.count; ++part) {
      const float* numbers = numbers_[static_cast<std::size_t>(part)];
      const double off = has_moments ? static_cast<double>(numbers[c]) - first : 0;
      second += parts_.share(part) * (static_cast<double>(numbers[channels + c]) + off * off);
    }
    for (std::size_t i = 0; i < outs.size(); i += 2) {
      outs[i].as<float>()[c] = static_cast<float>(first);
      outs[i + 1].as<float>()[c] = static_cast<float>(second);
    }
  }
}

void StatisticsMeeting::attend() noexcept {
  for (const std::int64_t channels : channels_)
    if (!exchange(channels)) return;
}

}  // namespace plimsoll
