#include "format/event_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "data/source/tfrecord.h"
#include "format/protobuf.h"
#include "tests/support/golden_images.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

double fixed_time() { return 1700000000.25; }

// What one record says: the tag and step of a summary, or the step of a session's start.
struct Told {
  std::string tag;
  std::int64_t step = 0;
  float value = 0;
  bool starts_session = false;
};

Told told_by(std::span<const std::byte> payload) {
  Told told;
  ProtoReader event(payload);
  while (const auto field = event.next()) {
    if (field->number == 2) told.step = static_cast<std::int64_t>(field->value);
    if (field->number == 3) told.tag = "version " + std::string(as_text(field->bytes));
    if (field->number == 7) told.starts_session = true;
    if (field->number != 5) continue;
    ProtoReader summary(field->bytes);
    ProtoReader value(summary.next()->bytes);
    while (const auto part = value.next()) {
      if (part->number == 1) told.tag = as_text(part->bytes);
      if (part->number == 2)
        told.value = std::bit_cast<float>(static_cast<std::uint32_t>(part->value));
    }
  }
  return told;
}

std::vector<Told> read_back(const fs::path& path) {
  std::vector<Told> list;
  TfRecordReader reader(path);
  while (const auto record = reader.next()) {
    EXPECT_TRUE(record->is_whole);
    list.push_back(told_by(record->payload));
  }
  return list;
}

TEST(EventFile, HasTheBytesThatTensorFlowWrites) {
  const auto golden =
      nlohmann::json::parse(std::ifstream(std::string(PLIMSOLL_TESTS_DIR) + "/golden/events.json"));
  const auto bytes_of = [&](const char* key) {
    const std::vector<std::uint8_t> raw = tests::from_base64(golden.at(key));
    return std::string(raw.begin(), raw.end());
  };
  const TemporaryFolder folder;
  EventFile file(folder.path(), {.resumed_at = 300, .clock = fixed_time});
  EXPECT_TRUE(file.scalar("epoch_loss", 0, 0));
  EXPECT_TRUE(file.scalar("epoch_loss", 300, 1.75));
  EXPECT_TRUE(file.scalar("memory/resident", std::int64_t{1} << 40,
                          std::numeric_limits<double>::quiet_NaN()));
  const float values[] = {-1.5F, -1.5F, -1.25F, 0.0F, 0.125F, 0.25F, 0.5F, 2.0F, 5.875F, 6.0F};
  EXPECT_TRUE(file.histogram("weights/conv", 301, values));
  const float same[] = {2, 2, 2, INFINITY};
  EXPECT_TRUE(file.histogram("weights/same", 302, same));
  EXPECT_TRUE(file.image("first_batch", 303, 3, 2, bytes_of("png")));
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(read_file(file.path(), 1_MiB), bytes_of("file"));
  EXPECT_TRUE(file.failure().empty());
}

TEST(EventFile, IsReadBackByTheRecordReader) {
  const TemporaryFolder folder;
  fs::path path;
  {
    EventFile file(folder.path() / "train", {.clock = fixed_time});
    path = file.path();
    // Far more than is gathered before it is written.
    for (int step = 0; step < 5000; ++step) file.scalar("loss", step, step * 0.5);
  }
  EXPECT_EQ(path.filename().string().rfind("events.out.tfevents.1700000000.", 0), 0U);
  const std::vector<Told> told = read_back(path);
  ASSERT_EQ(told.size(), 5001U);
  EXPECT_EQ(told[0].tag, "version brain.Event:2");
  EXPECT_EQ(told[5000].tag, "loss");
  EXPECT_EQ(told[5000].step, 4999);
  EXPECT_EQ(told[5000].value, 2499.5F);
}

TEST(EventFile, OfAResumedRunSortsBehindAndDropsWhatComesAfter) {
  const TemporaryFolder folder;
  const EventFile first(folder.path(), {.clock = fixed_time});
  const EventFile second(folder.path(), {.resumed_at = 7, .clock = [] { return 3.0; }});
  EXPECT_LT(first.path().string(), second.path().string());
  const std::vector<Told> told = read_back(second.path());
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(told[1].starts_session);
  EXPECT_EQ(told[1].step, 7);
}

TEST(EventFile, TakesEmptyAndUnrealHistograms) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  const float unreal[] = {NAN, INFINITY, -INFINITY};
  const float widest[] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::denorm_min()};
  EXPECT_TRUE(file.histogram("empty", 1, {}));
  EXPECT_TRUE(file.histogram("unreal", 1, unreal));
  EXPECT_TRUE(file.histogram("widest", 1, widest));
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(read_back(file.path()).size(), 4U);
}

TEST(EventFile, SaysWhyItCannotBeMadeAndDoesNotThrow) {
  EventFile file("/proc/nowhere/train");
  EXPECT_FALSE(file.scalar("loss", 1, 2));
  EXPECT_FALSE(file.flush());
  EXPECT_NE(file.failure().find("/proc/nowhere"), std::string::npos) << file.failure();
  EXPECT_EQ(file.lost(), 1);
  EXPECT_TRUE(file.path().empty());
}

TEST(EventFile, AFullDiskCostsOnlyWhatWasLoggedMeanwhile) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  for (int step = 0; step < 10; ++step) file.scalar("loss", step, 1);
  ASSERT_TRUE(file.flush());
  // A limit on the size of files stands in for the disk: it cuts a record in the middle.
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = before;
  tight.rlim_cur = fs::file_size(file.path()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  for (int step = 10; step < 15; ++step) file.scalar("loss", step, 1);
  EXPECT_FALSE(file.flush());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_action);
  EXPECT_EQ(file.lost(), 5);
  EXPECT_NE(file.failure().find("cannot write"), std::string::npos) << file.failure();

  EXPECT_TRUE(file.scalar("loss", 15, 1));
  EXPECT_TRUE(file.flush());
  const std::vector<Told> told = read_back(file.path());
  ASSERT_EQ(told.size(), 12U);
  EXPECT_EQ(told[11].step, 15);
}

}  // namespace
}  // namespace plimsoll
