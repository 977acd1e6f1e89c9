#include "plan/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

std::int64_t bucket_of(std::int64_t peak) {
  constexpr double kPerDoubling = 350;  // a bucket is about 0.2 % wide
  return static_cast<std::int64_t>(std::log2(static_cast<double>(peak) + 1) * kPerDoubling);
}

}  // namespace

void Archive::offer(const Score& score, const Fates& fates) {
  const auto [found, is_new] = entries_.try_emplace(bucket_of(score.peak), Entry{score, fates});
  Entry& held = found->second;
  if (is_new || score.seconds > held.score.seconds) return;
  if (score.seconds == held.score.seconds && score.peak >= held.score.peak) return;
  held = {score, fates};
}

std::vector<Archive::Entry> Archive::pareto() const {
  std::vector<Entry> result;
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& [bucket, entry] : entries_) {
    if (entry.score.seconds >= fastest) continue;
    fastest = entry.score.seconds;
    result.push_back(entry);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

const Archive::Entry* Archive::best_within(std::int64_t peak) const {
  const Entry* best = nullptr;
  for (const auto& [bucket, entry] : entries_) {
    if (entry.score.peak > peak) continue;
    if (best == nullptr || entry.score.seconds < best->score.seconds) best = &entry;
  }
  return best;
}

Search::Search(const Problem& problem, const Means& means, Price price, Archive& archive)
    : problem_(problem),
      options_{Fate::keep, Fate::redo_once, Fate::redo_each},
      scheduler_(problem, price),
      archive_(archive) {
  if (means.half) {
    options_.push_back(Fate::half);
    options_.push_back(Fate::half_once);
  }
  if (means.spill) options_.push_back(Fate::spill);
}

std::size_t Search::random_below(std::size_t limit) {
  return static_cast<std::size_t>(splitmix64(random_ += 0x9E3779B97F4A7C15ULL) % limit);
}

void Search::change(Fates& fates, std::int32_t root) {
  const Fate option = options_[random_below(options_.size())];
  if (problem_.permits(root, option)) fates[static_cast<std::size_t>(root)] = option;
}

Score Search::score(const Fates& fates) {
  if (!scheduler_.run(fates)) return {.peak = kEndless, .seconds = 0};
  const Score score{.peak = scheduler_.peak().bytes,
                    .seconds = scheduler_.schedule().extra_seconds};
  archive_.offer(score, fates);
  return score;
}

Search::Excess Search::excess(const Fates& fates, std::int64_t target) {
  const Score scored = score(fates);
  if (scored.peak == kEndless)
    return {.peak = kEndless, .over = std::numeric_limits<double>::infinity(), .seconds = 0};
  Excess result{.peak = scored.peak, .over = 0, .seconds = scored.seconds};
  if (scored.peak > target)
    for (std::int64_t live : scheduler_.live())
      if (live > target) result.over += static_cast<double>(live - target);
  return result;
}

std::vector<std::int32_t> Search::live_choices(std::int32_t step) {
  std::vector<std::int32_t> roots;
  for (const Instance& instance : scheduler_.schedule().instances)
    if (instance.first <= step && step <= instance.last &&
        problem_.roots()[static_cast<std::size_t>(instance.root)].has_choice)
      roots.push_back(instance.root);
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  std::stable_sort(roots.begin(), roots.end(), [&](std::int32_t a, std::int32_t b) {
    return problem_.roots()[static_cast<std::size_t>(a)].bytes >
           problem_.roots()[static_cast<std::size_t>(b)].bytes;
  });
  return roots;
}

bool Search::repair(Fates& fates, std::int64_t target) {
  constexpr std::size_t kTried = 40;  // candidates evaluated exactly per move
  const std::size_t limit = 3 * problem_.choices().size();
  Excess now = excess(fates, target);
  for (std::size_t move = 0; move < limit && now.peak > target; ++move) {
    std::vector<std::int32_t> roots = live_choices(scheduler_.peak().step);
    if (roots.size() > kTried) roots.resize(kTried);
    double best_gain = 0;
    Excess best;
    std::int32_t best_root = -1;
    Fate best_fate = Fate::keep;
    for (std::int32_t root : roots) {
      Fate& fate = fates[static_cast<std::size_t>(root)];
      const Fate before = fate;
      for (Fate option : options_) {
        if (option == before || !problem_.permits(root, option)) continue;
        fate = option;
        const Excess tried = excess(fates, target);
        const double gained = now.over - tried.over;
        if (gained <= 0) continue;
        const double price = std::max(tried.seconds - now.seconds, 1e-7);
        if (gained / price <= best_gain) continue;
        best_gain = gained / price;
        best = tried;
        best_root = root;
        best_fate = option;
      }
      fate = before;
    }
    if (best_root < 0) return false;
    fates[static_cast<std::size_t>(best_root)] = best_fate;
    now = best;
    score(fates);
  }
  return now.peak <= target;
}

void Search::promote(Fates& fates, std::int64_t target) {
  Score now = score(fates);
  if (now.peak > target) return;
  const auto try_fate = [&](std::int32_t root, Fate option) {
    Fate& fate = fates[static_cast<std::size_t>(root)];
    const Fate before = fate;
    if (before == option) return;
    fate = option;
    const Score tried = score(fates);
    if (tried.peak <= target && tried.seconds < now.seconds)
      now = tried;
    else
      fate = before;
  };
  for (std::int32_t root : problem_.choices()) {
    try_fate(root, Fate::keep);
    if (fates[static_cast<std::size_t>(root)] == Fate::redo_each) try_fate(root, Fate::redo_once);
  }
}

void Search::anneal(Fates fates, std::int64_t target, double step_seconds, int tries) {
  // What a byte over the target costs at one step, and which losses are accepted at the beginning:
  // in proportion, so that a large network is searched as a small one is.
  const double over_price = 0.015 * step_seconds / static_cast<double>(target);
  const double heat = 0.0002 * step_seconds;
  const auto cost = [&](const Excess& excess) { return excess.seconds + over_price * excess.over; };
  const std::vector<std::int32_t>& choices = problem_.choices();
  Excess now = excess(fates, target);
  std::vector<std::int32_t> near = live_choices(scheduler_.peak().step);
  Fates tried_fates;
  for (int attempt = 0; attempt < tries && !choices.empty(); ++attempt) {
    tried_fates = fates;
    const std::size_t flips = 1 + random_below(2);
    for (std::size_t flip = 0; flip < flips; ++flip) {
      const bool anywhere = near.empty() || random_below(3) > 0;
      change(tried_fates,
             anywhere ? choices[random_below(choices.size())] : near[random_below(near.size())]);
    }
    if (tried_fates == fates) continue;
    const Excess tried = excess(tried_fates, target);
    const double chance = static_cast<double>(1 + random_below(1 << 20)) / (1 << 20);
    const double cooled = heat * (1 - static_cast<double>(attempt) / tries);
    if (cost(tried) > cost(now) - cooled * std::log(chance)) continue;
    now = tried;
    std::swap(fates, tried_fates);
    near = live_choices(scheduler_.peak().step);
  }
}

void Search::sink(Fates& fates, int tries) {
  const std::int64_t start = score(fates).peak;
  std::int64_t target = start - 1;
  Excess now = excess(fates, target);
  const std::vector<std::int32_t>& choices = problem_.choices();
  Fates tried_fates;
  for (int attempt = 0; attempt < tries && !choices.empty(); ++attempt) {
    score(fates);
    const std::vector<std::int32_t> near = live_choices(scheduler_.peak().step);
    tried_fates = fates;
    const std::size_t flips = 1 + random_below(3);
    for (std::size_t flip = 0; flip < flips; ++flip) {
      const bool anywhere = near.empty() || random_below(4) == 0;
      const std::int32_t root =
          anywhere ? choices[random_below(choices.size())] : near[random_below(near.size())];
      change(tried_fates, root);
    }
    Excess tried = excess(tried_fates, target);
    if (tried.over > now.over || (tried.over == now.over && tried.seconds >= now.seconds)) continue;
    std::swap(fates, tried_fates);
    if (tried.peak <= target) {
      target = tried.peak - 1;
      tried = excess(fates, target);
    }
    now = tried;
  }
}

}  // namespace plimsoll
