#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "data/source/open_source.h"
#include "data/source/record_source.h"
#include "data/source/tfrecord.h"
#include "tests/support/complaints.h"
#include "tests/support/record_writer.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string flower(std::string_view image, std::int64_t label) {
  return framed(ExampleText()
                    .bytes("image/encoded", {std::string(image)})
                    .bytes("image/format", {"jpeg"})
                    .ints("image/class/label", {label})
                    .text());
}

ExampleText detection(std::string_view image) {
  ExampleText example;
  example.bytes("image/encoded", {std::string(image)})
      .ints("image/height", {100})
      .ints("image/width", {200})
      .floats("image/object/bbox/xmin", {0.1F, 0.5F})
      .floats("image/object/bbox/xmax", {0.2F, 0.75F})
      .floats("image/object/bbox/ymin", {0.3F, 0.25F})
      .floats("image/object/bbox/ymax", {0.4F, 1.0F})
      .bytes("image/object/class/text", {"cat", "dog"})
      .ints("image/object/class/label", {1, 3});
  return example;
}

std::string text_of(const Source& source, std::int64_t i) {
  MappedBytes buffer;
  const Encoded encoded = source.read(i, buffer);
  return {reinterpret_cast<const char*>(encoded.bytes.data()), encoded.bytes.size()};
}

TEST(TfRecord, GivesRecordsBackInOrder) {
  const TemporaryFolder folder;
  const std::string big(700'000, 'x');
  TfRecordReader reader(folder.put("x", framed("one") + framed("") + framed(big) + framed("4")));
  std::vector<std::string> seen;
  std::vector<std::int64_t> offsets;
  while (const auto record = reader.next()) {
    EXPECT_TRUE(record->is_whole);
    seen.emplace_back(reinterpret_cast<const char*>(record->payload.data()),
                      record->payload.size());
    offsets.push_back(record->offset);
  }
  EXPECT_THAT(seen, ElementsAre("one", "", big, "4"));
  EXPECT_THAT(offsets, ElementsAre(0, 19, 35, 35 + 16 + 700'000));
  EXPECT_LT(reader.memory(), 1_MiB);
}

TEST(TfRecord, NamesRecordAndByteOfEveryTruncation) {
  const TemporaryFolder folder;
  const std::string whole = framed("one") + framed("two");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    if (size == 19) continue;  // one whole record
    SCOPED_TRACE(size);
    TfRecordReader reader(folder.put("cut", whole.substr(0, size)));
    const auto read_all = [&] {
      while (reader.next()) {
      }
    };
    EXPECT_COMPLAINT(read_all(), DataError,
                     size < 19 ? "cut, record 0 at byte 0" : "cut, record 1 at byte 19");
  }
}

TEST(TfRecord, AllocatesNothingForALengthThatCannotBe) {
  const TemporaryFolder folder;
  const std::string length = little_endian<std::uint64_t>(1ULL << 60);
  TfRecordReader reader(folder.put(
      "x",
      length +
          little_endian(mask_crc32c(crc32c(std::as_bytes(std::span(std::string_view(length)))))) +
          "few bytes"));
  EXPECT_COMPLAINT(reader.next(), DataError, "the file has 5 more");
}

TEST(Records, OfClassesAreReadBack) {
  const TemporaryFolder folder;
  folder.put("f-train.tfrecord-00000-of-00002", flower("first", 1) + flower("second", 0));
  folder.put("f-train.tfrecord-00001-of-00002", flower("third", 2));
  const SourcePtr source = open_source(folder.path());
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(text_of(*source, 0), "first");
  EXPECT_EQ(text_of(*source, 2), "third");
  EXPECT_EQ(source->label(0), 1);
  EXPECT_EQ(source->label(2), 2);
  EXPECT_THAT(source->class_names(), ElementsAre("0", "1", "2"));
  EXPECT_THAT(source->where(1), HasSubstr("00000-of-00002, record 1 at byte "));
  EXPECT_THAT(source->where(2), HasSubstr("00001-of-00002, record 0 at byte 0"));
  EXPECT_EQ(source->index().largest_encoded, 6_B);
  EXPECT_EQ(source->index().files, 2);
}

TEST(Records, AreFoundByPatternAndByOneName) {
  const TemporaryFolder folder;
  folder.put("a-00000-of-00002", flower("1", 0));
  folder.put("a-00001-of-00002", flower("2", 0));
  folder.put("no shard by its name", flower("3", 0));
  EXPECT_EQ(open_source(folder.path().string() + "/a-*")->size(), 2);
  EXPECT_EQ(open_source(folder / "a-00001-of-00002")->size(), 1);
  EXPECT_EQ(open_source(folder / "no shard by its name")->size(), 1);
  EXPECT_COMPLAINT(open_source(folder.path().string() + "/b-*"), DataError, "no file has such");
}

TEST(Records, TakeNamesFromALabelListBesideThem) {
  const TemporaryFolder folder;
  folder.put("x.tfrecord", flower("1", 1));
  folder.put("labels.txt", "0:daisy\n1:rose\n2:tulip\n");
  const SourcePtr source = open_source(folder / "x.tfrecord");
  EXPECT_THAT(source->class_names(), ElementsAre("daisy", "rose", "tulip"));
  EXPECT_THAT(source->index().per_class, ElementsAre(0, 1, 0));
}

TEST(Records, OfTfdsAreReadBack) {
  const TemporaryFolder folder;
  folder.put("x.tfrecord", framed(ExampleText().bytes("image", {"png"}).ints("label", {4}).text()));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(text_of(*source, 0), "png");
  EXPECT_EQ(source->label(0), 4);
}

TEST(Records, OfOtherKeysAreReadWhenTheyAreNamed) {
  const TemporaryFolder folder;
  folder.put("x.tfrecord",
             framed(ExampleText().bytes("img_raw", {"a"}).bytes("kind", {"dog"}).text()) +
                 framed(ExampleText().bytes("img_raw", {"b"}).bytes("kind", {"ant"}).text()));
  EXPECT_COMPLAINT(open_source(folder.path()), DataError,
                   "the keys are img_raw (bytes), kind (bytes)");
  const SourcePtr source =
      open_source(folder.path(), {.keys = {.image = "img_raw", .label = "kind"}});
  EXPECT_THAT(source->class_names(), ElementsAre("ant", "dog"));
  EXPECT_EQ(source->label(0), 1);
  EXPECT_EQ(source->label(1), 0);
}

TEST(Records, WithoutAnImageDoNotSettleWhatTheOthersAreReadBy) {
  const TemporaryFolder folder;
  folder.put("x.tfrecord",
             framed("") + framed(ExampleText().ints("label", {1}).text()) +
                 framed(ExampleText().bytes("image", {"a"}).text()) +
                 framed(ExampleText().bytes("image", {"b"}).ints("label", {1}).text()));
  const SourcePtr source = open_source(folder.path());
  ASSERT_EQ(source->size(), 1);
  EXPECT_EQ(text_of(*source, 0), "b");
  EXPECT_EQ(source->defects().size(), 3U);
}

TEST(Records, WithAFeatureWithoutANameAreNotReadByIt) {
  const TemporaryFolder folder;
  folder.put("x.tfrecord", framed(ExampleText().bytes("image", {"a"}).ints("", {1}).text()) +
                               framed(ExampleText().bytes("", {"a"}).ints("label", {1}).text()));
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "no image/class/label and no label");
}

TEST(Records, ThatMixNamesAndNumbersAreDefects) {
  const auto record = [](bool with_numbers) {
    ExampleText example;
    example.bytes("image/encoded", {bmp_image(20, 10, 1)})
        .floats("image/object/bbox/xmin", {0.1F})
        .floats("image/object/bbox/xmax", {0.2F})
        .floats("image/object/bbox/ymin", {0.3F})
        .floats("image/object/bbox/ymax", {0.4F});
    if (with_numbers)
      example.ints("image/object/class/label", {900});
    else
      example.bytes("image/object/class/text", {"cat"});
    return framed(example.text());
  };
  for (const bool first : {false, true}) {
    const TemporaryFolder folder;
    folder.put("x.record", record(first) + record(!first));
    const SourcePtr source = open_source(folder.path());
    EXPECT_EQ(source->size(), 1);
    ASSERT_EQ(source->defects().size(), 1U);
    EXPECT_THAT(source->defects()[0].got, HasSubstr(first ? "'cat'" : "900"));
    EXPECT_THAT(source->defects()[0].expected, HasSubstr(first ? "a number" : "the name"));
  }
}

TEST(Records, ThatNameOneClassInTwoWaysAreNoted) {
  const TemporaryFolder folder;
  const auto named = [](const std::string& name) {
    return framed(ExampleText()
                      .bytes("image/encoded", {"img"})
                      .ints("image/class/label", {1})
                      .bytes("image/class/text", {name})
                      .text());
  };
  folder.put("x.tfrecord", named("cat") + named("dog") + named("cat"));
  const SourcePtr source = open_source(folder.path());
  EXPECT_THAT(source->class_names(), ElementsAre("0", "cat"));
  EXPECT_THAT(source->index().notes, ElementsAre(HasSubstr("1 class has a number and no name"),
                                                 HasSubstr("call class 1 both 'cat' and 'dog'")));
}

TEST(Records, WhoseNamesAreNotTheTrainingSetsAreNotTakenByNumber) {
  const TemporaryFolder folder;
  const auto named = [](std::int64_t label, const std::string& name) {
    return framed(ExampleText()
                      .bytes("image/encoded", {"img"})
                      .ints("image/class/label", {label})
                      .bytes("image/class/text", {name})
                      .text());
  };
  folder.put("val.tfrecord", named(1, "cat") + named(1, "wolf") + named(2, "bird"));
  const SourcePtr source = open_source(folder.path(), {.class_names = {"cat", "dog", "2"}});
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->label(0), 0);
  EXPECT_EQ(source->label(1), 2);  // a number was all that the training set had for it
  ASSERT_EQ(source->defects().size(), 1U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("record 1 at byte"));
}

TEST(Records, WithBoxesCountClassesFromOne) {
  const TemporaryFolder folder;
  folder.put("x.record", framed(detection("img").text()));
  const SourcePtr source = open_source(folder.path());
  ASSERT_TRUE(source->has_boxes());
  EXPECT_EQ(source->label(0), -1);
  EXPECT_THAT(source->class_names(), ElementsAre("cat", "2", "dog"));
  ASSERT_EQ(source->boxes(0).size(), 2U);
  EXPECT_EQ(source->boxes(0)[0], (Box{.x0 = 20, .y0 = 30, .x1 = 40, .y1 = 40, .area = 200}));
  EXPECT_EQ(source->boxes(0)[1].label, 2);
  EXPECT_EQ(source->annotated_size(0), (Size{.height = 100, .width = 200}));
  EXPECT_EQ(source->index().max_boxes, 2);
}

TEST(Records, WithBoxesTakeALabelMap) {
  const TemporaryFolder folder;
  folder.put("x.record", framed(detection("img").text()));
  folder.put("map.pbtxt", "item { id: 1 name: 'Cat' }\nitem { id: 3 name: 'Dog' }\n");
  const SourcePtr source = open_source(folder.path());
  EXPECT_THAT(source->class_names(), ElementsAre("Cat", "Dog"));
  EXPECT_EQ(source->boxes(0)[1].label, 1);
  folder.put("map.pbtxt", "item { id: 1 name: 'Cat' }");
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "a box of class 3");
}

TEST(Records, WhoseListsDifferInLengthAreDefects) {
  const TemporaryFolder folder;
  folder.put("x.record", framed(detection("img").text()) +
                             framed(detection("img").floats("image/object/bbox/xmin", {0}).text()));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->size(), 1);
  ASSERT_EQ(source->defects().size(), 1U);
  EXPECT_THAT(source->defects()[0].got, HasSubstr("lists of 1, 2, 2, 2 corners and 2 classes"));
}

TEST(Records, DamagedAreAllListedAndTheOthersKept) {
  const TemporaryFolder folder;
  std::string shard = flower("first", 0) + flower("second", 0) + flower("third", 0);
  const std::size_t size = flower("first", 0).size();
  shard[size + 30] ^= 1;  // in the payload of record 1
  folder.put("a.tfrecord", shard);
  folder.put("b.tfrecord", flower("4", 0) + "garbage that is long enough to be a header");
  folder.put("c.tfrecord", flower("5", 0) + framed("\xFF\xFF not an Example"));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->size(), 4);
  ASSERT_EQ(source->defects().size(), 3U);
  EXPECT_THAT(source->defects()[0].where,
              HasSubstr("a.tfrecord, record 1 at byte " + std::to_string(size)));
  EXPECT_THAT(source->defects()[0].got, HasSubstr("checksum"));
  EXPECT_THAT(source->defects()[1].where, HasSubstr("b.tfrecord, record 1 at byte"));
  EXPECT_THAT(source->defects()[1].hint, HasSubstr("all behind it"));
  EXPECT_THAT(source->defects()[2].where, HasSubstr("c.tfrecord, record 1 at byte"));
}

TEST(Records, OfSequencesAreRefusedWithWhatToDo) {
  const TemporaryFolder folder;
  const std::string context = field(1, field(1, field(1, "clip/id") + field(2, "")));
  const std::string lists = field(2, field(1, field(1, "image/encoded") + field(2, "")));
  folder.put("x.tfrecord", framed(context + lists));
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "a SequenceExample");
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "an Example of its own");
}

TEST(Records, ThatCannotBeReadLeaveTheOthersOfTheirFile) {
  const TemporaryFolder folder;
  const std::string sequence = framed(field(1, field(1, field(1, "clip/id") + field(2, ""))) +
                                      field(2, field(1, field(1, "image/encoded") + field(2, ""))));
  folder.put("x.tfrecord",
             flower("1", 0) + flower("2", 1) + sequence + flower("3", 0) + flower("4", 1));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->size(), 4);
  ASSERT_EQ(source->defects().size(), 1U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("x.tfrecord, record 2 at byte "));
  EXPECT_EQ(source->defects()[0].byte, 2 * std::ssize(flower("1", 0)));
}

TEST(Records, OfAPatternAreNarrowedByThePartAlone) {
  const TemporaryFolder folder;
  folder.put("x-train.tfrecord", flower("1", 0) + flower("2", 1));
  folder.put("x-test.tfrecord", flower("3", 0));
  const std::string pattern = (folder / "*.tfrecord").string();
  EXPECT_EQ(open_source(pattern)->size(), 3);
  EXPECT_EQ(open_source(pattern, {.part = "test"})->size(), 1);
  EXPECT_COMPLAINT(open_source(pattern, {.part = "val"}), UsageError, "the parts train and test");
  EXPECT_EQ(open_source(folder / "x-test.tfrecord", {.part = "test"})->size(), 1);
  EXPECT_COMPLAINT(open_source(folder / "x-test.tfrecord", {.part = "train"}), UsageError,
                   "--part train");
}

TEST(Records, OfADamagedCompressedFileLeaveTheOtherFiles) {
  const TemporaryFolder folder;
  folder.put("data/a.tfrecord.gz", deflated(flower("1", 0) + flower("2", 1), 31));
  folder.put("data/b.tfrecord.gz", deflated(flower("3", 0), 31).substr(0, 30));
  folder.put("data/c.tfrecord.gz", deflated(flower("4", 0), 31));
  const SourcePtr source = open_source(folder / "data", {.cache = folder / "cache"});
  EXPECT_EQ(source->size(), 3);
  ASSERT_EQ(source->defects().size(), 1U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("b.tfrecord.gz: byte "));
  EXPECT_TRUE(source->defects()[0].byte);
  // A cache that cannot be written is nobody's damage.
  folder.put("file", "");
  EXPECT_COMPLAINT(open_source(folder / "data", {.cache = folder / "file"}), DataError, "file");
}

TEST(Records, CompressedAreUnpackedOnce) {
  for (const int window_bits : {31, 15}) {
    const TemporaryFolder folder;
    const std::string plain = flower("first", 1) + flower(std::string(200'000, 'a'), 0);
    folder.put("data/x.tfrecord.gz", deflated(plain, window_bits));
    EXPECT_COMPLAINT(open_source(folder / "data"), UsageError, "--cache DIR");
    const SourceOptions options{.cache = folder / "cache"};
    const SourcePtr source = open_source(folder / "data", options);
    EXPECT_EQ(source->size(), 2);
    EXPECT_EQ(text_of(*source, 0), "first");
    EXPECT_THAT(source->where(0), HasSubstr("x.tfrecord.gz, record 0"));
    fs::path twin;
    for (const auto& entry : fs::directory_iterator(folder / "cache")) twin = entry.path();
    const auto made = fs::last_write_time(twin);
    open_source(folder / "data", options);
    EXPECT_EQ(fs::last_write_time(twin), made);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "cache"), {}), 1);
    // Another file of the same name gets a twin of its own.
    folder.put("data/x.tfrecord.gz", deflated(plain + flower("third", 2), window_bits));
    EXPECT_EQ(open_source(folder / "data", options)->size(), 3);
  }
}

TEST(Records, CompressedAndCutLeaveNothingInTheCache) {
  const TemporaryFolder folder;
  const std::string packed = deflated(flower("first", 1), 31);
  for (std::size_t size = 2; size < packed.size(); ++size) {
    folder.put("x.tfrecord.gz", packed.substr(0, size));
    EXPECT_COMPLAINT(open_source(folder / "x.tfrecord.gz", {.cache = folder / "cache"}), DataError,
                     "x.tfrecord.gz");
    EXPECT_TRUE(fs::is_empty(folder / "cache")) << size;
  }
}

TEST(Records, NoticeThatTheFileWasChanged) {
  const TemporaryFolder folder;
  const fs::path path = folder.put("x.tfrecord", flower("first", 1) + flower("second", 1));
  const SourcePtr source = open_source(path);
  fs::resize_file(path, 40);
  EXPECT_COMPLAINT(text_of(*source, 1), DataError, "x.tfrecord, record 1 at byte ");
  fs::remove(path);
  EXPECT_COMPLAINT(text_of(*source, 1), DataError, "cannot open");
}

TEST(Records, OfRealDetectionSetsAreRead) {
  SHARED_DATA_OR_SKIP(folder, "tfrecord");
  const SourcePtr raccoons = open_source(folder / "raccoon_test.record");
  EXPECT_EQ(raccoons->size(), 40);
  EXPECT_THAT(raccoons->class_names(), ElementsAre("raccoon"));
  EXPECT_TRUE(raccoons->has_boxes());
  EXPECT_GE(raccoons->index().boxes, 40);
  EXPECT_TRUE(raccoons->defects().empty());
  const SourcePtr pets = open_source(folder / "pets_examples.record");
  EXPECT_EQ(pets->size(), 10);
  EXPECT_TRUE(pets->defects().empty());
  EXPECT_COMPLAINT(open_source(folder / "serengeti_sequence.record"), DataError,
                   "a SequenceExample");
}

}  // namespace
}  // namespace plimsoll
