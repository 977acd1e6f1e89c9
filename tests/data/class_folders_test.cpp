#include "data/source/class_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "data/source/open_source.h"
#include "data/source/picture_names.h"
#include "tests/support/complaints.h"
#include "tests/support/record_writer.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::string relative(const Source& source, std::int64_t i, const fs::path& root) {
  return fs::path(source.path(i)).lexically_relative(root).string();
}

TEST(ClassFolders, AreListedAsKerasListsThem) {
  std::ifstream file(fs::path(PLIMSOLL_TESTS_DIR) / "golden" / "class_folders.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  const TemporaryFolder folder;
  for (const std::string name : golden["files"]) folder.put(name, "");
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->class_names(), golden["classes"].get<std::vector<std::string>>());
  std::vector<std::string> names;
  std::vector<int> labels;
  for (std::int64_t i = 0; i < source->size(); ++i) {
    names.push_back(relative(*source, i, folder.path()));
    labels.push_back(source->label(i));
  }
  // All that Keras lists but what is not read.
  std::vector<std::string> expected_names;
  std::vector<int> expected_labels;
  for (std::size_t i = 0; i < golden["filenames"].size(); ++i) {
    const std::string name = golden["filenames"][i];
    if (!unread_kind(name).empty()) continue;
    expected_names.push_back(name);
    expected_labels.push_back(golden["labels"][i]);
  }
  EXPECT_EQ(names, expected_names);
  EXPECT_EQ(labels, expected_labels);
  EXPECT_THAT(source->index().notes,
              IsSupersetOf({"3 files of a kind that is not read: 1 PPM, 2 TIFF",
                            "passed over beside the folders: 1 picture"}));
}

TEST(ClassFolders, OfRealPhotographsAreListedAsKerasListsThem) {
  SHARED_DATA_OR_SKIP(flowers, "flowers5");
  const SourcePtr source = open_source(flowers);
  std::string list;
  for (std::int64_t i = 0; i < source->size(); ++i)
    list += relative(*source, i, flowers) + " " + std::to_string(source->label(i)) + "\n";
  // Of Keras's filenames and classes, in the same form.
  EXPECT_EQ(fnv1a64(list), 0xC360C725637CF00DULL);
  EXPECT_THAT(source->class_names(),
              ElementsAre("daisy", "dandelion", "roses", "sunflowers", "tulips"));
  EXPECT_THAT(source->index().per_class, ElementsAre(40, 40, 40, 40, 40));
}

TEST(ClassFolders, MissingInValidationShiftNothing) {
  const TemporaryFolder folder;
  for (const char* name :
       {"train/ant/1.jpg", "train/bee/1.jpg", "train/cat/1.jpg", "val/ant/9.jpg", "val/cat/9.jpg"})
    folder.put(name, "x");
  const SourcePtr train = open_source(folder / "train");
  const SourcePtr val = open_source(folder / "val", {.class_names = train->class_names()});
  EXPECT_EQ(val->class_names(), train->class_names());
  EXPECT_EQ(val->label(0), 0);
  EXPECT_EQ(val->label(1), 2);
  EXPECT_THAT(val->index().per_class, ElementsAre(1, 0, 1));
}

TEST(ClassFolders, UnknownInTrainingAreRefusedByName) {
  const TemporaryFolder folder;
  folder.put("val/daisies/1.jpg", "x");
  EXPECT_COMPLAINT(open_source(folder / "val", {.class_names = {"daisy", "rose"}}), DataError,
                   "no class 'daisies'");
}

TEST(ClassFolders, SayWhatTheyPassOver) {
  const TemporaryFolder folder;
  for (const char* name : {"a/1.jpg", "a/1.txt", "a/2.txt", "a/3.webp"}) folder.put(name, "x");
  EXPECT_THAT(open_source(folder.path())->index().notes,
              ElementsAre("1 *.webp passed over, as Keras does, though they could be read",
                          "passed over: 2 *.txt"));
}

TEST(ClassFolders, TakeWebpAndGifWhereKerasWouldFindNothing) {
  const TemporaryFolder folder;
  for (const char* name : {"a/1.webp", "b/2.GIF"}) folder.put(name, "x");
  EXPECT_EQ(open_source(folder.path())->size(), 2);
}

TEST(ClassFolders, WithNothingInThemSayWhatIsThere) {
  const TemporaryFolder folder;
  folder.put("a/notes.txt", "x");
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "passed over: 1 *.txt");
  folder.put("flat/1.jpg", "x");
  EXPECT_COMPLAINT(open_source(folder / "flat"), DataError, "it holds 1 *.jpg");
  EXPECT_COMPLAINT(open_source(folder / "flat"), DataError, "cat/1.jpg");
  EXPECT_COMPLAINT(open_source(folder / "absent"), DataError, "no such file or folder");
  EXPECT_COMPLAINT(open_source(""), DataError, "nothing is named");
}

TEST(ClassFolders, KeepADanglingLinkAsASampleThatCannotBeRead) {
  const TemporaryFolder folder;
  folder.put("a/1.jpg", "x");
  fs::create_symlink(folder / "nowhere.jpg", folder / "a/2.jpg");
  fs::create_directory_symlink(folder.path(), folder / "a/loop");
  const SourcePtr source = open_source(folder.path());
  ASSERT_EQ(source->size(), 2);
  MappedBytes buffer;
  EXPECT_COMPLAINT(source->read(1, buffer), DataError, "2.jpg: cannot open");
}

TEST(ClassFolders, TakeLessThanHundredBytesAnImage) {
  const TemporaryFolder folder;
  // As long as ImageNet's names.
  for (int i = 0; i < 3000; ++i)
    folder.put("n01440764/n01440764_" + std::to_string(10000 + i) + ".JPEG", "");
  const SourcePtr source = open_source(folder.path());
  EXPECT_LT(source->index().memory.count, 3000 * 100);
  EXPECT_GT(source->index().memory.count, 3000 * 30);
}

TEST(FileSource, RefusesAFileThatGrewSinceItWasListed) {
  const TemporaryFolder folder;
  folder.put("a/1.jpg", "1234");
  const SourcePtr source = open_source(folder.path());
  folder.put("a/1.jpg", "12345");
  MappedBytes buffer;
  EXPECT_COMPLAINT(source->read(0, buffer), DataError, "changed during the run");
}

TEST(Split, SetsAsideTheSameShareOfEveryClass) {
  const TemporaryFolder folder;
  for (int i = 0; i < 20; ++i) folder.put("a/" + std::to_string(i) + ".jpg", "x");
  for (int i = 0; i < 10; ++i) folder.put("b/" + std::to_string(i) + ".jpg", "x");
  const SourcePtr source = open_source(folder.path());
  const SplitSources parts = split(source, 0.2, 7);
  EXPECT_THAT(parts.train->index().per_class, ElementsAre(16, 8));
  EXPECT_THAT(parts.validation->index().per_class, ElementsAre(4, 2));
  std::vector<int> seen(30);
  for (const SourcePtr& part : {parts.train, parts.validation})
    for (std::int64_t i = 0; i < part->size(); ++i) {
      ++seen[static_cast<std::size_t>(part->number(i))];
      EXPECT_EQ(part->path(i), source->path(part->number(i)));
      EXPECT_EQ(part->label(i), source->label(part->number(i)));
    }
  EXPECT_EQ(seen, std::vector<int>(30, 1));
}

TEST(Split, DependsOnTheSeedAlone) {
  const TemporaryFolder folder;
  for (int i = 0; i < 100; ++i) folder.put("a/" + std::to_string(i) + ".jpg", "x");
  const SourcePtr source = open_source(folder.path());
  const auto members = [&](std::uint64_t seed) {
    std::vector<std::int64_t> numbers;
    const SourcePtr part = split(source, 0.3, seed).validation;
    for (std::int64_t i = 0; i < part->size(); ++i) numbers.push_back(part->number(i));
    return numbers;
  };
  EXPECT_EQ(members(1), members(1));
  EXPECT_NE(members(1), members(2));
  EXPECT_EQ(members(1).size(), 30U);
}

TEST(Split, RefusesWhatLeavesNothing) {
  const TemporaryFolder folder;
  folder.put("a/1.jpg", "x");
  const SourcePtr source = open_source(folder.path());
  EXPECT_COMPLAINT(split(source, 0.2, 0), UsageError, "at least one of each");
  for (const double fraction : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_COMPLAINT(split(source, fraction, 0), UsageError, "--val-split");
}

}  // namespace
}  // namespace plimsoll
