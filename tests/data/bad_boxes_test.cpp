// Annotations that are wrong: each is left out and counted, or told with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/batch/pipeline.h"
#include "data/scan/scan.h"
#include "data/source/open_source.h"
#include "tests/support/complaints.h"
#include "tests/support/record_writer.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A VOC annotation of 1.bmp, 200 x 100, with these <object>s.
std::string voc(const std::string& objects, const std::string& filename = "1.bmp") {
  return "<annotation><filename>" + filename +
         "</filename><size><width>200</width><height>100</height></size>" + objects +
         "</annotation>";
}
std::string voc_box(const std::string& x0, const std::string& y0, const std::string& x1,
                    const std::string& y1) {
  return "<object><name>cat</name><bndbox><xmin>" + x0 + "</xmin><ymin>" + y0 + "</ymin><xmax>" +
         x1 + "</xmax><ymax>" + y1 + "</ymax></bndbox></object>\n";
}

// A record of one 20 x 10 picture with these corners, by key.
ExampleText record(const std::vector<float>& x0, const std::vector<float>& y0,
                   const std::vector<float>& x1, const std::vector<float>& y1,
                   const std::vector<std::int64_t>& labels) {
  return ExampleText()
      .bytes("image/encoded", {bmp_image(20, 10, 1)})
      .floats("image/object/bbox/xmin", x0)
      .floats("image/object/bbox/ymin", y0)
      .floats("image/object/bbox/xmax", x1)
      .floats("image/object/bbox/ymax", y1)
      .ints("image/object/class/label", labels);
}

std::string coco(const std::string& annotations) {
  return R"({"images": [{"id": 1, "file_name": "1.bmp", "width": 200, "height": 100}],
    "categories": [{"id": 1, "name": "cat"}], "annotations": [)" +
         annotations + "]}";
}

// Boxes that a batch shows, of all samples.
std::int64_t shown(const SourcePtr& source) {
  PipelineSettings settings = small_settings();
  settings.fit = Fit::letterbox;
  settings.most_boxes = std::max<std::int64_t>(1, source->index().max_boxes);
  settings.repeat = false;
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  std::int64_t count = 0;
  while (const std::optional<Batch> batch = pipeline.next())
    for (std::size_t i = 0; i < batch->box_counts.size(); ++i) {
      count += batch->box_counts[i];
      for (std::int64_t k = 0; k < batch->box_counts[i]; ++k) {
        const PlacedBox& box = batch->boxes[i * static_cast<std::size_t>(batch->most_boxes) +
                                            static_cast<std::size_t>(k)];
        const Size extent = batch->placements[i].extent;
        EXPECT_TRUE(box.x0 >= 0 && box.x0 < box.x1 && box.x1 <= static_cast<float>(extent.width));
        EXPECT_TRUE(box.y0 >= 0 && box.y0 < box.y1 && box.y1 <= static_cast<float>(extent.height));
      }
    }
  return count;
}

TEST(BadBoxes, OfVocAreLeftOutAndCounted) {
  const Watchdog watchdog;
  const TemporaryFolder folder;
  folder.put("JPEGImages/1.bmp", bmp_image(200, 100, 1));
  folder.put("Annotations/1.xml",
             voc(voc_box("60", "10", "20", "50") + voc_box("20", "10", "20", "50") +
                 voc_box("300", "10", "320", "50") + voc_box("1e20", "1", "2e30", "1e30") +
                 voc_box("1", "1", "1e300", "1e300") + voc_box("1", "1", "10", "10")));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->index().boxes, 6);
  EXPECT_EQ(source->index().unusable_boxes, 5);
  EXPECT_EQ(source->index().max_boxes, 1);
  EXPECT_EQ(shown(source), 1);
  const ScanReport report = scan(*source);
  EXPECT_EQ(report.inverted.count, 1);
  EXPECT_EQ(report.empty.count, 1);
  EXPECT_EQ(report.outside.count, 3);
}

TEST(BadBoxes, OfVocThatAreNoNumbersAreToldWithTheirLine) {
  const TemporaryFolder folder;
  for (const char* name : {"JPEGImages/1.bmp", "JPEGImages/2.bmp", "JPEGImages/3.bmp"})
    folder.put(name, bmp_image(200, 100, 1));
  folder.put("Annotations/1.xml",
             voc(voc_box("1", "1", "10", "10") + voc_box("nan", "10", "20", "50")));
  folder.put("Annotations/2.xml", voc(voc_box("1", "1", "10", "10"), "2.bmp"));
  folder.put("Annotations/4.xml", voc(voc_box("1", "1", "10", "10"), "4.bmp"));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->size(), 1);
  ASSERT_EQ(source->defects().size(), 2U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("Annotations/1.xml: line 2"));
  EXPECT_THAT(source->defects()[0].got, HasSubstr("'nan'"));
  // An annotation without a picture; a picture without an annotation is noted below.
  EXPECT_THAT(source->defects()[1].where, HasSubstr("Annotations/4.xml"));
  EXPECT_THAT(source->defects()[1].got, HasSubstr("no picture '4.bmp'"));
  folder.put("JPEGImages/5.bmp", bmp_image(200, 100, 1));
  EXPECT_THAT(open_source(folder.path())->index().notes,
              Contains("1 picture has no XML file and is passed over"));
}

TEST(BadBoxes, OfClassesThatTheTrainingSetLacksAreTold) {
  const TemporaryFolder folder;
  folder.put("JPEGImages/1.bmp", bmp_image(200, 100, 1));
  folder.put("Annotations/1.xml", voc(voc_box("1", "1", "10", "10")));
  EXPECT_COMPLAINT(open_source(folder.path(), {.class_names = {"car", "dog"}}), DataError,
                   "did you mean 'car'?");
  folder.put("x.coco.json", coco(R"({"image_id": 1, "category_id": 9, "bbox": [0, 0, 9, 9]})"));
  folder.put("1.bmp", bmp_image(200, 100, 1));
  EXPECT_COMPLAINT(open_source(folder / "x.coco.json"), DataError, "image 1: a box of category 9");
  EXPECT_COMPLAINT(open_source(folder / "x.coco.json", {.class_names = {"dog"}}), DataError,
                   "a box of category 9");
}

TEST(BadBoxes, OfCocoAreLeftOutAndCounted) {
  const Watchdog watchdog;
  const TemporaryFolder folder;
  folder.put("1.bmp", bmp_image(200, 100, 1));
  folder.put("x.coco.json", coco(R"({"image_id": 1, "category_id": 1, "bbox": [60, 10, -40, 40]},
              {"image_id": 1, "category_id": 1, "bbox": [60, 10, 0, 40]},
              {"image_id": 1, "category_id": 1, "bbox": [-60, 10, 20, 40]},
              {"image_id": 1, "category_id": 1, "bbox": [0, 10, 1e30, 40]},
              {"image_id": 1, "category_id": 1, "bbox": [0, 10, 20]},
              {"image_id": 1, "category_id": 1, "bbox": [0, 10, 20, 40], "iscrowd": 1, "area": 7},
              {"image_id": 1, "category_id": 1, "bbox": [0.5, 10, 20.25, 40], "area": 300.5})"));
  const SourcePtr source = open_source(folder.path());
  const Index& index = source->index();
  EXPECT_EQ(index.boxes, 6);  // one has no four numbers
  EXPECT_EQ(index.unusable_boxes, 4);
  EXPECT_EQ(index.crowds, 1);
  EXPECT_EQ(index.max_boxes, 1);
  EXPECT_EQ(index.max_truths, 6);
  EXPECT_EQ(source->boxes(0)[5],
            (Box{.x0 = 0.5F, .y0 = 10, .x1 = 20.75F, .y1 = 50, .area = 300.5F}));
  EXPECT_EQ(shown(source), 1);
  folder.put("x.coco.json", coco(R"({"image_id": 1, "category_id": 1, "bbox": [0, 0, NaN, 9]})"));
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "x.coco.json: byte ");
}

TEST(BadBoxes, OfRecordsAreLeftOutAndCounted) {
  const Watchdog watchdog;
  const TemporaryFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  folder.put("x.record", framed(record({0.5F, 0.5F, 1.5F, nan, 0, 0}, {0, 0, 0, 0, 0, 0},
                                       {0.2F, 0.5F, 1.7F, 1, 1e30F, 0.5F}, {1, 1, 1, 1, 1, 1},
                                       {1, 1, 1, 1, 1, 1})
                                    .text()));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->annotated_size(0), (Size{.height = 10, .width = 20}));
  EXPECT_EQ(source->index().unusable_boxes, 5);
  EXPECT_EQ(source->index().max_boxes, 1);
  EXPECT_EQ(source->boxes(0)[5], (Box{.x0 = 0, .y0 = 0, .x1 = 10, .y1 = 10, .area = 100}));
  EXPECT_EQ(shown(source), 1);
}

TEST(BadBoxes, OfRecordsWithListsOfOtherLengthsAreTold) {
  const TemporaryFolder folder;
  const auto good = [] { return record({0}, {0}, {1}, {1}, {1}); };
  const auto complaint = [&](const ExampleText& text) {
    folder.put("x.record", framed(good().text()) + framed(text.text()));
    const SourcePtr source = open_source(folder.path());
    EXPECT_EQ(source->size(), 1);
    return source->defects().empty() ? Complaint{} : source->defects()[0];
  };
  EXPECT_THAT(complaint(record({0, 0}, {0}, {1}, {1}, {1})).got,
              HasSubstr("lists of 2, 1, 1, 1 corners and 1 classes"));
  EXPECT_THAT(complaint(record({0}, {0}, {1}, {1}, {1, 1})).got, HasSubstr("2 classes"));
  for (const char* key : {"area", "difficult", "is_crowd", "class/text"}) {
    const std::string name = "image/object/" + std::string(key);
    ExampleText text = good();
    if (name.ends_with("area"))
      text.floats(name, {1, 2});
    else if (name.ends_with("text"))
      text.bytes(name, {"cat", "dog"});
    else
      text.ints(name, {1, 0});
    const Complaint said = complaint(text);
    EXPECT_THAT(said.where, HasSubstr("x.record, record 1 at byte"));
    EXPECT_THAT(said.got, HasSubstr("2 values under " + name + " for 1 boxes"));
  }
}

TEST(BadBoxes, OfRecordsWithoutAnySizeAreTold) {
  const TemporaryFolder folder;
  const auto sized = [](std::int64_t height, std::int64_t width) {
    ExampleText text;
    text.bytes("image/encoded", {"no picture"})
        .floats("image/object/bbox/xmin", {0})
        .floats("image/object/bbox/ymin", {0})
        .floats("image/object/bbox/xmax", {1})
        .floats("image/object/bbox/ymax", {1})
        .ints("image/object/class/label", {1})
        .ints("image/height", {height})
        .ints("image/width", {width});
    return framed(text.text());
  };
  folder.put("x.record", sized(10, 20) + sized(0, 20) + sized(10, 5'000'000'000));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->size(), 1);
  ASSERT_EQ(source->defects().size(), 2U);
  EXPECT_THAT(source->defects()[1].where, HasSubstr("x.record, record 2 at byte"));
  EXPECT_THAT(source->defects()[1].got, HasSubstr("no image/height and image/width"));
}

TEST(BadBoxes, OfALabelMapThatDisagreesAreTold) {
  const TemporaryFolder folder;
  folder.put("x.record", framed(record({0}, {0}, {1}, {1}, {2}).text()));
  folder.put("map.pbtxt", "item { id: 1 name: 'cat' }");
  EXPECT_COMPLAINT(open_source(folder.path()), DataError,
                   "a box of class 2; expected one of the 1 of the label map");
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "record 0 at byte 0");
  // The map has a class that the training set does not have.
  folder.put("map.pbtxt", "item { id: 1 name: 'cat' }\nitem { id: 2 name: 'dog' }");
  EXPECT_COMPLAINT(open_source(folder.path(), {.class_names = {"cat"}}), DataError,
                   "a box of class 2");
  // Names in the records that the training set has not, without a map.
  std::filesystem::remove(folder / "map.pbtxt");
  folder.put(
      "x.record",
      framed(record({0}, {0}, {1}, {1}, {1}).bytes("image/object/class/text", {"wolf"}).text()));
  EXPECT_COMPLAINT(open_source(folder.path(), {.class_names = {"cat"}}), DataError,
                   "a box of class 1");
}

TEST(BadBoxes, AreNoneOfAPictureWithoutBoxes) {
  const Watchdog watchdog;
  const TemporaryFolder folder;
  folder.put("JPEGImages/1.bmp", bmp_image(200, 100, 1));
  folder.put("JPEGImages/2.bmp", bmp_image(200, 100, 1));
  folder.put("Annotations/1.xml", voc(voc_box("1", "1", "10", "10")));
  folder.put("Annotations/2.xml", voc("", "2.bmp"));
  const SourcePtr source = open_source(folder.path());
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->index().background, 1);
  EXPECT_EQ(shown(source), 1);
}

}  // namespace
}  // namespace plimsoll
