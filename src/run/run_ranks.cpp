#include "run/run_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/memory_usage.h"
#include "base/packed.h"
#include "dist/agreement.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kCompareEvery = 100;  // steps
// A rank of which nothing was heard so long is not merely slow: it tells every second.
constexpr double kSilent = 3.5;  // seconds

}  // namespace

void share_tensors(dist::Group* group, const Trainer& trainer) {
  if (group == nullptr) return;
  over_lasting(trainer.session(), trainer.step_graph(), [&](std::span<std::byte> bytes) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
      group->broadcast(0, bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
  });
}

std::string share_text(dist::Group* group, std::string text) {
  if (group == nullptr) return text;
  return std::move(group->gather_texts(group->rank() == 0 ? text : std::string())[0]);
}

RunState share_state(dist::Group* group, const RunState& state) {
  if (group == nullptr) return state;
  Metadata metadata;
  put(state, metadata);
  std::vector<dist::Fact> facts;
  for (const auto& [name, value] : metadata) facts.push_back({name, value});
  Metadata heard;
  for (const dist::Fact& fact :
       dist::parse_facts(share_text(group, dist::pack_facts(facts)), group->name(0)))
    heard[fact.name] = fact.value;
  return read_state(heard, group->name(0));
}

RunRanks::Decision RunRanks::decide(dist::Word mine, const Trainer& trainer,
                                    const std::optional<Complaint>& failure,
                                    const std::function<void()>& before_failing) {
  std::vector<std::string> mine_to_tell;
  {
    const std::scoped_lock lock(mutex_);
    mine_to_tell.swap(untold_);
  }
  mine.has_failed = failure.has_value();
  mine.has_news = !mine_to_tell.empty();
  if (mine.step > 0 && mine.step % kCompareEvery == 0)
    mine.weights = checksum_of(trainer.session(), trainer.step_graph());
  const std::vector<dist::Word>& words = exchange(mine);
  Decision decision;
  bool has_failed = false;
  bool has_news = false;
  for (const dist::Word& word : words) {
    decision.stops = decision.stops || word.stops;
    has_failed = has_failed || word.has_failed;
    has_news = has_news || word.has_news;
  }
  decision.saves = words[0].saves;
  compare_weights();
  paces_.note(words);
  if (has_news) decision.news = gather_news(mine_to_tell);
  if (!has_failed) return decision;
  Packer packer;
  if (failure) packer.put_complaint(*failure);
  const std::vector<std::string> failures = group_->gather_texts(packer.bytes());
  before_failing();
  for (int rank = 0; rank < group_->ranks(); ++rank) {
    const std::string& text = failures[static_cast<std::size_t>(rank)];
    if (text.empty()) continue;
    Unpacker unpacker(text, group_->name(rank));
    Complaint complaint = unpacker.take_complaint();
    unpacker.end();
    complaint.where = group_->name(rank) + ": " + complaint.where;
    group_->end_together();
    throw DataError(std::move(complaint));
  }
  bug("a rank has failed and does not say why");
}

const std::vector<dist::Word>& RunRanks::exchange(const dist::Word& mine) {
  const dist::WordBytes bytes = dist::pack_word(mine);
  const auto ranks = static_cast<std::size_t>(group_->ranks());
  gathered_.resize(ranks * bytes.size());
  words_.resize(ranks);
  group_->all_gather(bytes, gathered_);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string name = group_->name(static_cast<int>(rank));
    words_[rank] =
        dist::parse_word(std::span(gathered_).subspan(rank * bytes.size(), bytes.size()), name);
    if (words_[rank].step != mine.step)
      throw DataError({.where = name,
                       .got = fmt::format("it is at step {}", words_[rank].step),
                       .expected = fmt::format("expected step {}, as here", mine.step)});
  }
  return words_;
}

void RunRanks::compare_weights() {
  const std::vector<int> odd = dist::find_odd_ranks(words_);
  if (odd.empty()) return;
  std::string names;
  for (const int rank : odd) names += (names.empty() ? "" : ", ") + group_->name(rank);
  group_->end_together();
  throw ReplicaError({.where = names,
                      .got = fmt::format("its weights differ from those of other ranks at step {}",
                                         words_[0].step),
                      .expected = "expected the same bits on all",
                      .hint = "its memory or its processor fails: the last checkpoint stands, and "
                              "the run can go on without that host"});
}

void RunRanks::check_weights(const Trainer& trainer, std::int64_t step) {
  if (group_ == nullptr) return;
  exchange({.step = step, .weights = checksum_of(trainer.session(), trainer.step_graph())});
  compare_weights();
}

std::vector<std::string> RunRanks::gather_news(const std::vector<std::string>& mine) {
  Packer packer;
  packer.put(static_cast<std::uint32_t>(mine.size()));
  for (const std::string& text : mine) packer.put_text(text);
  std::vector<std::string> all;
  const std::vector<std::string> told = group_->gather_texts(packer.bytes());
  for (int rank = 0; rank < group_->ranks(); ++rank) {
    Unpacker unpacker(told[static_cast<std::size_t>(rank)], group_->name(rank));
    for (auto left = unpacker.take<std::uint32_t>(); left > 0; --left) {
      const std::string text(unpacker.take_text());
      if (rank > 0) all.push_back(group_->name(rank) + ": " + text);
    }
    unpacker.end();
  }
  return leads() ? all : std::vector<std::string>();
}

bool RunRanks::settle(bool found) { return share_text(group_, found ? "yes" : "no") == "yes"; }

std::optional<std::string> RunRanks::first_of(const std::optional<std::string>& mine) {
  if (group_ == nullptr) return mine;
  for (std::string& text : group_->gather_texts(mine.value_or("")))
    if (!text.empty()) return std::move(text);
  return std::nullopt;
}

void RunRanks::tell(std::string text) {
  const std::scoped_lock lock(mutex_);
  untold_.push_back(std::move(text));
}

void RunRanks::beat(std::int64_t step, const std::string& doing) {
  if (group_ == nullptr) return;
  dist::Beat beat{.step = step, .resident_bytes = memory_usage().now().count};
  beat.set_doing(doing);
  {
    const std::scoped_lock lock(mutex_);
    beat_ = beat;
  }
  group_->note(beat);
}

std::string RunRanks::stall_text(std::int64_t step) const {
  if (group_ == nullptr) return {};
  std::string text;
  std::int64_t least = step;
  const std::vector<dist::Heard> all = group_->heard();
  for (const dist::Heard& heard : all) least = std::min(least, heard.beat.step);
  for (const dist::Heard& heard : all) {
    const bool is_silent = heard.seconds_ago > kSilent;
    // Of those that speak, the ones that all others wait for are behind.
    const bool is_behind = heard.beat.step < step && heard.beat.step == least;
    if (!is_silent && !is_behind) continue;
    text += fmt::format("  waiting for {}: last heard of {:.0f} s ago at step {}, {}\n",
                        group_->name(heard.rank), heard.seconds_ago, heard.beat.step,
                        heard.beat.doing_text());
  }
  return text;
}

std::string RunRanks::lost_text(double seconds) const {
  if (group_ == nullptr) return {};
  for (const dist::Heard& heard : group_->heard())
    if (heard.seconds_ago > seconds)
      return fmt::format("{}: silent for {:.0f} s, last heard of at step {}, {}",
                         group_->name(heard.rank), heard.seconds_ago, heard.beat.step,
                         heard.beat.doing_text());
  return {};
}

std::vector<RankReport> RunRanks::gather(const RankReport& mine) {
  if (group_ == nullptr) return {};
  Packer packer;
  packer.put(mine.numbers);
  std::vector<RankReport> all;
  const std::vector<std::string> told = group_->gather_texts(packer.bytes());
  for (int rank = 0; rank < group_->ranks(); ++rank) {
    Unpacker unpacker(told[static_cast<std::size_t>(rank)], group_->name(rank));
    all.push_back({group_->host(rank), unpacker.take<RankReport::Numbers>()});
    unpacker.end();
  }
  return all;
}

std::vector<std::string> RunRanks::find_stragglers() {
  std::vector<std::string> texts;
  for (const Straggler& one : paces_.find_stragglers())
    texts.push_back(fmt::format(
        "{} is slower than the others by {:.0f} %: {:.2g} s a step, {:.2g} s of it waiting for "
        "data",
        group_->name(one.rank), 100 * one.slower, one.step_seconds, one.waited_for_data));
  return leads() ? texts : std::vector<std::string>();
}

std::vector<RankStatus> RunRanks::status() const {
  if (group_ == nullptr || !leads()) return {};
  std::vector<dist::Heard> all = group_->heard();
  {
    const std::scoped_lock lock(mutex_);
    all.insert(all.begin(), {.rank = 0, .beat = beat_, .seconds_ago = 0});
  }
  std::vector<RankStatus> ranks;
  for (const dist::Heard& heard : all) {
    const dist::Word word = paces_.last_of(heard.rank);
    ranks.push_back({.host = group_->host(heard.rank),
                     .doing = heard.beat.doing_text(),
                     .step = heard.beat.step,
                     .resident = Bytes{heard.beat.resident_bytes},
                     .step_seconds = word.seconds,
                     .data_seconds = word.waited_for_data,
                     .others_seconds = word.waited_for_others,
                     .silent_seconds = heard.seconds_ago});
  }
  return ranks;
}

}  // namespace plimsoll
