// CSV, Pascal VOC, COCO and label maps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scan/scan.h"
#include "data/source/coco.h"
#include "data/source/csv.h"
#include "data/source/label_map.h"
#include "data/source/open_source.h"
#include "data/source/voc.h"
#include "tests/support/complaints.h"
#include "tests/support/record_writer.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<std::vector<std::string>> rows(std::string_view text) {
  std::vector<std::vector<std::string>> result;
  CsvReader reader(text, ',', "list.csv");
  for (CsvRow row; reader.next(row);) result.push_back(row.fields);
  return result;
}

TEST(Csv, ReadsQuotesLineEndsAndEmptyFields) {
  EXPECT_THAT(rows("\xEF\xBB\xBF"
                   "a,b\r\n\n\"x, \"\"y\"\"\nz\",2\n,\nlast"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("x, \"y\"\nz", "2"),
                          ElementsAre("", ""), ElementsAre("last")));
  EXPECT_TRUE(rows("").empty());
}

TEST(Csv, NamesTheLineOfAMistake) {
  EXPECT_COMPLAINT(rows("a,b\nc,\"d\n"), DataError, "list.csv: line 2: a quote");
  EXPECT_COMPLAINT(rows("a\n\"b\"c\n"), DataError, "list.csv: line 2: text behind");
}

TEST(Csv, OfImagesIsASource) {
  const TemporaryFolder folder;
  for (const char* name : {"img/1.jpg", "img/2, too.jpg", "3.jpg"}) folder.put(name, "x");
  folder.put("list.csv", "img/1.jpg,rose\n\"img/2, too.jpg\",daisy\n3.jpg, rose \n");
  const SourcePtr source = open_source(folder / "list.csv");
  EXPECT_THAT(source->class_names(), ElementsAre("daisy", "rose"));
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(source->label(0), 1);
  EXPECT_EQ(source->label(1), 0);
  EXPECT_EQ(source->path(1), (folder / "img/2, too.jpg").string());
}

TEST(Csv, FindsItsColumnsByAHeader) {
  const TemporaryFolder folder;
  folder.put("1.jpg", "x");
  folder.put("list.csv", "id,Class,Filename\n7,cat,1.jpg\n");
  const SourcePtr source = open_source(folder / "list.csv");
  ASSERT_EQ(source->size(), 1);
  EXPECT_THAT(source->class_names(), ElementsAre("cat"));
}

TEST(Csv, PutsNumbersInTheOrderOfNumbers) {
  const TemporaryFolder folder;
  folder.put("1.jpg", "x");
  folder.put("list.csv", "1.jpg,12\n1.jpg,2\n1.jpg,1\n");
  EXPECT_THAT(open_source(folder / "list.csv")->class_names(), ElementsAre("1", "2", "12"));
}

TEST(Csv, ListsEveryLineItCannotUse) {
  const TemporaryFolder folder;
  folder.put("1.jpg", "x");
  folder.put("list.csv", "1.jpg,cat\nabsent.jpg,cat\n1.jpg\n1.jpg,dgo\n");
  const SourcePtr source = open_source(folder / "list.csv", {.class_names = {"cat", "dog"}});
  EXPECT_EQ(source->size(), 1);
  ASSERT_EQ(source->defects().size(), 3U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("list.csv: line 2"));
  EXPECT_THAT(source->defects()[0].got, HasSubstr("absent.jpg"));
  EXPECT_THAT(source->defects()[1].got, HasSubstr("1 fields"));
  EXPECT_THAT(source->defects()[2].hint, HasSubstr("dog"));
  folder.put("list.csv", "absent.jpg,cat\n");
  EXPECT_COMPLAINT(open_source(folder / "list.csv"), DataError, "line 1");
}

TEST(BoxList, OfTensorflowGathersTheBoxesOfAPicture) {
  const TemporaryFolder folder;
  folder.put("1.jpg", "x");
  folder.put("2.jpg", "x");
  folder.put("list.csv",
             "filename,width,height,class,xmin,ymin,xmax,ymax\n"
             "1.jpg,200,100,dog,20,10,100,50\n2.jpg,20,10,cat,0,0,20,10\n"
             "1.jpg,200,100,cat,0,0,200,100\n");
  const SourcePtr source = open_source(folder / "list.csv");
  ASSERT_EQ(source->size(), 2);
  EXPECT_TRUE(source->has_boxes());
  EXPECT_THAT(source->class_names(), ElementsAre("cat", "dog"));
  ASSERT_EQ(source->boxes(0).size(), 2U);
  EXPECT_EQ(source->boxes(0)[0],
            (Box{.x0 = 20, .y0 = 10, .x1 = 100, .y1 = 50, .label = 1, .area = 3200}));
  EXPECT_EQ(source->boxes(0)[1], (Box{.x0 = 0, .y0 = 0, .x1 = 200, .y1 = 100, .area = 20000}));
  EXPECT_EQ(source->annotated_size(1), (Size{.height = 10, .width = 20}));
  const SourcePtr rows = open_source(folder / "list.csv", {.reading = Reading::classes});
  EXPECT_EQ(rows->size(), 3);
  EXPECT_FALSE(rows->has_boxes());
}

TEST(BoxList, OfKerasRetinanetTakesSizesFromThePictures) {
  const TemporaryFolder folder;
  folder.put("img/1.bmp", bmp_image(20, 10, 1));
  folder.put("img/2.bmp", bmp_image(20, 10, 2));
  folder.put("list.csv", "img/1.bmp,2,1,10,5,cow\nimg/2.bmp,,,,,\n");
  const SourcePtr source = open_source(folder / "list.csv");
  ASSERT_EQ(source->size(), 2);
  EXPECT_EQ(source->boxes(0)[0], (Box{.x0 = 2, .y0 = 1, .x1 = 10, .y1 = 5, .area = 32}));
  EXPECT_TRUE(source->boxes(1).empty());
  EXPECT_EQ(source->annotated_size(0), (Size{.height = 10, .width = 20}));
}

TEST(BoxList, LeavesOutAPictureWithABoxItCannotRead) {
  const TemporaryFolder folder;
  folder.put("1.bmp", bmp_image(20, 10, 1));
  folder.put("2.bmp", bmp_image(20, 10, 2));
  folder.put("list.csv",
             "1.bmp,2,1,10,5,cow\n1.bmp,2,one,10,5,cow\n2.bmp,2,1,10,5,cow\n"
             "2.bmp,2,1\n3.bmp,1,1,2,2,cow\n2.bmp,1,1,2,2,\n");
  EXPECT_COMPLAINT(open_source(folder / "list.csv"), DataError, "list.csv: line 4: 3 fields");
  folder.put("list.csv",
             "1.bmp,2,1,10,5,cow\n1.bmp,2,one,10,5,cow\n2.bmp,2,1,10,5,cow\n3.bmp,1,1,2,2,cow\n");
  const SourcePtr source = open_source(folder / "list.csv");
  EXPECT_EQ(source->size(), 1);
  ASSERT_EQ(source->defects().size(), 2U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("list.csv: line 2"));
  EXPECT_THAT(source->defects()[0].got, HasSubstr("'one'"));
  EXPECT_THAT(source->defects()[1].got, HasSubstr("3.bmp"));
}

TEST(BoxList, OrNotIsAskedBack) {
  const TemporaryFolder folder;
  folder.put("1.bmp", bmp_image(20, 10, 1));
  for (const char* rows :
       {"filename,class,x,y,w,h\n1.bmp,cat,1,1,2,2\n",
        "image,label,bbox\n1.bmp,cat,\"[1, 1, 2, 2]\"\n", "1.bmp,cat,1,1,2,2\n"}) {
    folder.put("list.csv", rows);
    EXPECT_COMPLAINT(open_source(folder / "list.csv"), DataError,
                     "boxes of pictures, or pictures with a class each");
    EXPECT_COMPLAINT(open_source(folder / "list.csv"), DataError, "--read-as classes");
    EXPECT_EQ(open_source(folder / "list.csv", {.reading = Reading::classes})->size(), 1) << rows;
  }
  folder.put("list.csv", "1.bmp,cat\n");
  EXPECT_COMPLAINT(open_source(folder / "list.csv", {.reading = Reading::boxes}), UsageError,
                   "has no columns of corners");
}

TEST(PictureList, FindsPicturesInTheFoldersBesideIt) {
  const TemporaryFolder folder;
  folder.put("images/1.jpg", "x");
  folder.put("data/list.csv", "1.jpg,cat\n");
  EXPECT_EQ(open_source(folder / "data/list.csv")->path(0),
            (folder / "images/1.jpg").lexically_normal().string());
  folder.put("far/2.jpg", "x");
  folder.put("data/list.csv", "2.jpg,cat\n");
  EXPECT_COMPLAINT(open_source(folder / "data/list.csv"), DataError, "--images DIR");
  EXPECT_EQ(open_source(folder / "data/list.csv", {.images = folder / "far"})->size(), 1);
}

constexpr const char* kAnnotation = R"(<annotation>
  <filename>1.jpg</filename>
  <size><width>200</width><height>100</height><depth>3</depth></size>
  <object><name>dog</name><difficult>1</difficult>
    <part><name>head</name><bndbox><xmin>1</xmin></bndbox></part>
    <bndbox><xmin>21</xmin><ymin>11</ymin><xmax>100</xmax><ymax>50.0</ymax></bndbox></object>
  <object><name>cat</name>
    <bndbox><xmax>200</xmax><ymax>100</ymax><xmin>1</xmin><ymin>1</ymin></bndbox></object>
</annotation>)";

TEST(Voc, ReadsObjectsAndNotTheirParts) {
  const VocAnnotation annotation = parse_voc(kAnnotation, "a.xml");
  EXPECT_EQ(annotation.filename, "1.jpg");
  EXPECT_EQ(annotation.size, (Size{.height = 100, .width = 200}));
  ASSERT_EQ(annotation.objects.size(), 2U);
  EXPECT_EQ(annotation.objects[0].name, "dog");
  EXPECT_TRUE(annotation.objects[0].difficult);
  EXPECT_EQ(annotation.objects[0].xmin, 21);
  EXPECT_EQ(annotation.objects[0].ymax, 50);
  EXPECT_EQ(annotation.objects[1].xmax, 200);
}

TEST(Voc, NamesTheLineOfAMistake) {
  EXPECT_COMPLAINT(parse_voc("<annotation>\n<object>", "a.xml"), DataError, "a.xml: line 2");
  EXPECT_COMPLAINT(parse_voc("<html/>", "a.xml"), DataError, "no <annotation>");
  EXPECT_COMPLAINT(parse_voc("", "a.xml"), DataError, "a.xml: line 1");
  EXPECT_COMPLAINT(
      parse_voc("<annotation>\n<object><name>x</name>\n</object></annotation>", "a.xml"), DataError,
      "a.xml: line 3: an object without a box");
  EXPECT_COMPLAINT(parse_voc("<annotation><object><bndbox><xmin>one</xmin></bndbox></object>"
                             "</annotation>",
                             "a.xml"),
                   DataError, "'one'; expected a number");
}

TEST(Voc, FolderIsASource) {
  const TemporaryFolder folder;
  folder.put("Annotations/1.xml", kAnnotation);
  folder.put("Annotations/2.xml", "<annotation><filename>2.jpg</filename></annotation>");
  folder.put("Annotations/3.xml", "<annotation>");
  folder.put("JPEGImages/1.jpg", "x");
  folder.put("ImageSets/Main/train.txt", "1\n");
  const SourcePtr source = open_source(folder.path());
  ASSERT_EQ(source->size(), 1);
  EXPECT_THAT(source->class_names(), ElementsAre("cat", "dog"));
  EXPECT_EQ(
      source->boxes(0)[0],
      (Box{.x0 = 20, .y0 = 10, .x1 = 100, .y1 = 50, .label = 1, .difficult = true, .area = 3200}));
  EXPECT_EQ(source->boxes(0)[1], (Box{.x0 = 0, .y0 = 0, .x1 = 200, .y1 = 100, .area = 20000}));
  ASSERT_EQ(source->defects().size(), 2U);
  EXPECT_THAT(source->defects()[0].got, HasSubstr("2.jpg"));
  EXPECT_THAT(source->defects()[1].where, HasSubstr("3.xml: line 1"));
  EXPECT_TRUE(open_source(folder / "ImageSets/Main/train.txt")->defects().empty());
  EXPECT_TRUE(open_source(folder.path(), {.part = "train"})->defects().empty());
}

TEST(Voc, IsReadFromFoldersOfOtherNames) {
  for (const std::string annotations : {"annots", "annotations/xmls", "images", "."}) {
    SCOPED_TRACE(annotations);
    const TemporaryFolder folder;
    folder.put("set/" + annotations + "/1.xml", kAnnotation);
    folder.put("set/images/1.jpg", "x");
    folder.put("set/notes/readme.txt", "x");
    const SourcePtr source = open_source(folder / "set");
    ASSERT_EQ(source->size(), 1);
    EXPECT_TRUE(source->has_boxes());
    EXPECT_EQ(fs::path(source->path(0)).lexically_normal(), folder / "set/images/1.jpg");
  }
}

TEST(Voc, IsReadByTheFolderOfItsXmlFiles) {
  const TemporaryFolder folder;
  folder.put("set/annots/1.xml", kAnnotation);
  folder.put("set/images/1.jpg", "x");
  EXPECT_EQ(open_source(folder / "set/annots")->path(0),
            (folder / "set/images/1.jpg").lexically_normal().string());
}

TEST(Voc, InFoldersNamedByPartIsReadByPart) {
  const TemporaryFolder folder;
  for (const std::string part : {"train", "val"}) {
    folder.put("annotations/" + part + "/1.xml", kAnnotation);
    folder.put("images/" + part + "/1.jpg", part);
  }
  folder.put("images/train/2.jpg", "x");
  const SourcePtr train = open_source(folder.path());
  EXPECT_EQ(train->index().part, "train");
  EXPECT_EQ(train->path(0), (folder / "images/train/1.jpg").string());
  EXPECT_THAT(train->index().notes, Contains("1 picture has no XML file and is passed over"));
  const SourcePtr val = open_source(folder.path(), {.part = "val"});
  ASSERT_EQ(val->size(), 1);
  EXPECT_EQ(val->path(0), (folder / "images/val/1.jpg").string());
}

TEST(Voc, OfXmlThatIsNoAnnotationIsNone) {
  const TemporaryFolder folder;
  for (const char* name : {"cat/1.jpg", "dog/1.jpg"}) folder.put(name, "x");
  folder.put("cat/settings.xml", "<project/>");
  EXPECT_FALSE(open_source(folder.path())->has_boxes());
}

TEST(Voc, OfRealPhotographsIsRead) {
  SHARED_DATA_OR_SKIP(folder, "bccd");
  const SourcePtr source = open_source(folder);
  EXPECT_EQ(source->size(), 364);
  EXPECT_EQ(source->index().boxes, 4888);
  EXPECT_THAT(source->class_names(), ElementsAre("Platelets", "RBC", "WBC"));
  EXPECT_TRUE(source->defects().empty());
  EXPECT_EQ(source->index().unusable_boxes, 2);
  EXPECT_EQ(source->index().crowds, 0);
  EXPECT_EQ(source->index().background, 0);
  EXPECT_EQ(source->index().max_boxes, 30);
  const std::int64_t train = open_source(folder / "ImageSets/Main/train.txt")->size();
  const std::int64_t val = open_source(folder, {.part = "val"})->size();
  const std::int64_t test = open_source(folder, {.part = "test"})->size();
  EXPECT_EQ(train + val + test, 364);
}

// Annotations before images, holes in the ids, and more keys than are read.
constexpr const char* kCoco = R"({"info": {"year": 2017, "images": [1, 2]},
  "annotations": [
    {"id": 1, "image_id": 9, "category_id": 18, "bbox": [20, 10.5, 100, 50], "iscrowd": 0,
     "segmentation": [[1, 2, 3], [4]], "area": 1e3},
    {"id": 2, "image_id": 9, "category_id": 3, "bbox": [0, 0, 200, 100], "iscrowd": 1,
     "segmentation": {"counts": [1, 2], "size": [3, 4]}},
    {"id": 3, "image_id": 9, "category_id": 3},
    {"id": 4, "image_id": 77, "category_id": 3, "bbox": [0, 0, 1, 1]}],
  "images": [{"id": 9, "file_name": "9.jpg", "width": 200, "height": 100, "license": 3},
             {"id": 4, "file_name": "4.jpg", "width": 10, "height": 10},
             {"id": 5, "file_name": "5.jpg", "width": 10, "height": 10}],
  "categories": [{"id": 18, "name": "dog", "supercategory": "animal"}, {"id": 3, "name": "car"}]
})";

TEST(Coco, FolderIsASource) {
  const TemporaryFolder folder;
  folder.put("annotations/instances_val2017.json", kCoco);
  folder.put("annotations/captions_val2017.json", "{}");
  for (const char* name : {"val2017/9.jpg", "val2017/4.jpg"}) folder.put(name, "x");
  const SourcePtr source = open_source(folder.path());
  EXPECT_THAT(source->class_names(), ElementsAre("car", "dog"));
  ASSERT_EQ(source->size(), 2);
  EXPECT_TRUE(source->boxes(0).empty());
  ASSERT_EQ(source->boxes(1).size(), 2U);
  EXPECT_EQ(source->boxes(1)[0],
            (Box{.x0 = 20, .y0 = 10.5F, .x1 = 120, .y1 = 60.5F, .label = 1, .area = 1000}));
  EXPECT_TRUE(source->boxes(1)[1].crowd);
  EXPECT_EQ(source->boxes(1)[1].area, 20000);
  EXPECT_EQ(source->index().crowds, 1);
  EXPECT_EQ(source->index().max_boxes, 1);
  EXPECT_EQ(source->index().max_truths, 2);
  EXPECT_EQ(source->index().background, 1);
  EXPECT_EQ(source->path(1), (folder / "val2017/9.jpg").lexically_normal().string());
  ASSERT_EQ(source->defects().size(), 2U);
  EXPECT_THAT(source->defects()[0].where, HasSubstr("5.jpg"));
  EXPECT_THAT(source->defects()[1].got, HasSubstr("1 boxes of images that are not listed"));
}

TEST(Coco, AsksWhichOfSeveral) {
  const TemporaryFolder folder;
  folder.put("annotations/instances_train.json", kCoco);
  folder.put("annotations/instances_val.json", kCoco);
  for (const char* name : {"val/9.jpg", "val/4.jpg", "val/5.jpg"}) folder.put(name, "x");
  EXPECT_COMPLAINT(open_source(folder.path()), DataError, "instances_train.json, instances_val");
  EXPECT_EQ(open_source(folder.path(), {.part = "val"})->size(), 3);
  EXPECT_EQ(open_source(folder / "annotations/instances_val.json")->size(), 3);
  EXPECT_COMPLAINT(open_source(folder / "annotations/instances_train.json"), DataError,
                   "--images DIR");
  EXPECT_EQ(
      open_source(folder / "annotations/instances_train.json", {.images = folder / "val"})->size(),
      3);
}

TEST(Coco, NamesTheByteOfAMistake) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) { read_coco(folder.put("x.json", text)); };
  EXPECT_COMPLAINT(read(R"({"images": [)"), DataError, "x.json: byte 13");
  EXPECT_COMPLAINT(read("[]"), DataError, "none of images");
  EXPECT_COMPLAINT(read(R"({"images": [{"id": 1}]})"), DataError, "image 0 (from 0): no file_name");
  EXPECT_COMPLAINT(read(R"({"categories": [{"name": "x"}]})"), DataError, "no id");
}

TEST(Coco, TakesTheTrainingSetsClasses) {
  const TemporaryFolder folder;
  folder.put("x.coco.json",
             R"({"images": [{"id": 1, "file_name": "1.jpg", "width": 2, "height": 2}],
    "annotations": [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 1, 1]}],
    "categories": [{"id": 7, "name": "dog"}]})");
  folder.put("1.jpg", "x");
  const SourcePtr source = open_source(folder.path(), {.class_names = {"ant", "bee", "dog"}});
  EXPECT_EQ(source->boxes(0)[0].label, 2);
}

TEST(LabelMap, IsReadAsTheObjectDetectionApiWritesIt) {
  const char* text = R"(
# pets
item {
  id: 1
  name: 'Abyssinian'
}
item { name: "/m/01g317", id: 2; display_name: "person" keypoints { id: 5 label: "nose" } }
item: { id: 7 display_name: 'it\'s' })";
  EXPECT_THAT(parse_label_map(text, "map"),
              ElementsAre(Pair(1, "Abyssinian"), Pair(2, "/m/01g317"), Pair(7, "it's")));
}

TEST(LabelMap, NamesTheLineOfAMistake) {
  const auto parse = [](const char* text) { parse_label_map(text, "map.pbtxt"); };
  EXPECT_COMPLAINT(parse("item {\n id: one }"), DataError, "map.pbtxt: line 2: 'one'");
  EXPECT_COMPLAINT(parse("item { id: 1"), DataError, "the file ends");
  EXPECT_COMPLAINT(parse("item { name: 'x' }"), DataError, "without id");
  EXPECT_COMPLAINT(parse("item { id: 1 }"), DataError, "without name");
  EXPECT_COMPLAINT(parse("item { id: 1 name: 'a' } item { id: 1 name: 'b' }"), DataError,
                   "a second time");
  EXPECT_COMPLAINT(parse("item { id: 1 name: 'a }"), DataError, "does not end");
}

TEST(LabelMap, ReadsWhatProtobufEscapes) {
  const auto name = [](std::string_view text) {
    return parse_label_map("item { id: 1 name: " + std::string(text) + " }", "map.pbtxt").at(1);
  };
  EXPECT_EQ(name(R"("caf\303\251")"), "caf\xC3\xA9");
  EXPECT_EQ(name(R"('it\'s \"x\" \\ \t')"), "it's \"x\" \\ \t");
  EXPECT_EQ(name(R"("\x41\0601")"), "A01");
  EXPECT_COMPLAINT(name(R"("\")"), DataError, "does not end");
}

TEST(LabelMap, IsReadFromAListOfNames) {
  EXPECT_THAT(parse_label_list("daisy\r\n\n rose \n", "l"),
              ElementsAre(Pair(0, "daisy"), Pair(1, "rose")));
  EXPECT_THAT(parse_label_list("2:c\n0:a:b\n", "l"), ElementsAre(Pair(0, "a:b"), Pair(2, "c")));
  EXPECT_COMPLAINT(parse_label_list("0:a\n0:b\n", "l"), DataError, "l: line 2");
}

TEST(IdxPair, IsASource) {
  const TemporaryFolder folder;
  const std::string images(
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"
      "abcd",
      20);
  const std::string labels("\0\0\x08\x01\0\0\0\x02\x03\x01", 10);
  folder.put("x-images-idx3-ubyte", images);
  EXPECT_COMPLAINT(open_source(folder / "x-images-idx3-ubyte"), DataError,
                   "no x-labels-idx1-ubyte");
  folder.put("x-labels-idx1-ubyte", labels);
  const SourcePtr source = open_source(folder / "x-images-idx3-ubyte");
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->label(0), 3);
  EXPECT_THAT(source->class_names(), ElementsAre("0", "1", "2", "3"));
  folder.put("set/train-images-idx3-ubyte", images);
  folder.put("set/train-labels-idx1-ubyte", labels);
  EXPECT_EQ(open_source(folder / "set")->size(), 2);
}

}  // namespace
}  // namespace plimsoll
