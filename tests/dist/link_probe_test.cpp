#include "dist/link_probe.h"

#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/ranks.h"
#include "tests/support/watchdog.h"

namespace plimsoll::dist {
namespace {

TEST(LinkProbe, FindsALinkThatAllRanksAgreeOn) {
  const Watchdog watchdog(std::chrono::seconds(60));
  for (const int ranks : {2, 3}) {
    std::mutex mutex;
    std::vector<Link> found;
    const auto thrown = run_ranks(ranks, [&](Group& group) {
      const Link link = measure_link(group);
      const std::scoped_lock lock(mutex);
      found.push_back(link);
    });
    for (const std::string& text : thrown) EXPECT_EQ(text, "");
    ASSERT_EQ(found.size(), static_cast<std::size_t>(ranks));
    for (const Link& link : found) {
      EXPECT_GT(link.bytes_per_second, 0);
      EXPECT_GT(link.latency, 0);
      EXPECT_EQ(link.model.share, 1);
      EXPECT_EQ(link_text(link), link_text(found[0]));
    }
  }
}

}  // namespace
}  // namespace plimsoll::dist
