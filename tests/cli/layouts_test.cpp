// What `check` and `train` say about folders as people have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/golden_images.h"
#include "tests/support/record_writer.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

class Layouts : public testing::Test {
 protected:
  // Pictures 0.bmp, 1.bmp, ... in each of the folders, every one another.
  void put_pictures(const std::vector<std::string>& folders, int each = 4) {
    for (const std::string& name : folders)
      for (int i = 0; i < each; ++i)
        put(name + "/" + std::to_string(i) + ".bmp", bmp_image(16, 12, next_picture_++));
  }
  void put(const std::string& name, const std::string& bytes) const {
    folder_.put("set/" + name, bytes);
  }
  // An annotation with one box of 8x6 in the picture `stem`.bmp.
  void put_xml(const std::string& folder, const std::string& stem) const {
    put(folder + "/" + stem + ".xml",
        "<annotation><filename>" + stem +
            ".bmp</filename><size><width>16</width><height>12</height></size><object><name>cat"
            "</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>8</xmax><ymax>6</ymax></bndbox>"
            "</object></annotation>");
  }
  std::string set() const { return (folder_ / "set").string(); }
  std::string out() const { return (folder_ / "run").string(); }
  Outcome check(const std::string& more = "") const {
    return run_program("check " + set() + " --model xception_mini --out " + out() + " " + more);
  }
  nlohmann::json check_json(const std::string& more = "") const {
    return nlohmann::json::parse(check("--json " + more).output);
  }
  Outcome train(const std::string& more = "") const {
    return run_program("train " + set() +
                       " --model xception_mini --image 24 --batch 4 --steps 1 --threads 1 --out " +
                       out() + " " + more);
  }
  // Both ask back, in the same words.
  void expect_asks(const std::string& got, const std::string& hint) const {
    const std::string expected = "expected a folder that can be read in one way";
    const Outcome checked = check();
    EXPECT_EQ(checked.code, 1);
    EXPECT_THAT(checked.output, HasSubstr("  error    " + set() + ": " + got + "; " + expected +
                                          "\n           hint: " + hint + "\n"));
    EXPECT_THAT(checked.output, HasSubstr("A run would fail: 1 error to mend."));
    const Outcome trained = train();
    EXPECT_EQ(trained.code, 1);
    EXPECT_THAT(trained.output, HasSubstr("plimsoll: " + set() + ": " + got + "; " + expected +
                                          "\nhint: " + hint + "\n"));
  }
  // `check` reads boxes, `train` says which networks find them.
  void expect_boxes(const std::string& kind, int samples, int boxes) const {
    const Outcome checked = check();
    EXPECT_EQ(checked.code, 0) << checked.output;
    EXPECT_THAT(checked.output,
                HasSubstr("  kind         " + kind + ": " + std::to_string(samples) + " samples"));
    EXPECT_THAT(checked.output, HasSubstr("  boxes        " + std::to_string(boxes) + ", at most"));
    EXPECT_THAT(checked.output, HasSubstr("The data is sound; a network that finds boxes"));
    const Outcome trained = train();
    EXPECT_EQ(trained.code, 2);
    EXPECT_THAT(trained.output,
                HasSubstr("plimsoll: DATA: '" + set() +
                          "' has boxes, and xception_mini tells classes; expected data and a "
                          "network that fit each other\nhint: --model retinanet_mini"));
  }

  const TemporaryFolder folder_;
  unsigned next_picture_ = 0;
};

TEST_F(Layouts, OfPartsAreTrainedAndValidatedEachOnItsOwn) {
  put_pictures({"train/cat", "train/dog", "valid/cat", "valid/dog", "test/cat", "test/dog"});
  const Outcome checked = check();
  EXPECT_EQ(checked.code, 0) << checked.output;
  for (const std::string& text :
       {"data " + set() + ", part train\n  kind         a folder per class: 8 samples in 8 files",
        "val " + set() + ", part val\n  kind         a folder per class: 8 samples in 8 files",
        set() + ": of the parts train, val and test this is train (--part chooses)\n",
        set() + ": of the parts train, val and test this is val (--part chooses)\n",
        std::string("        0  cat  4\n"), std::string("A run would work")})
    EXPECT_THAT(checked.output, HasSubstr(text));
  const Outcome trained = train();
  EXPECT_EQ(trained.code, 0) << trained.output;
  for (const std::string& text :
       {std::string("8 images to train on, 8 to validate · 2 classes"),
        set() + ": of the parts train, val and test this is train (--part chooses)\n",
        std::string("validation: of the parts train, val and test this is val (--part chooses)\n")})
    EXPECT_THAT(trained.output, HasSubstr(text));
  EXPECT_THAT(content(out() + "/log.txt"), HasSubstr("this is train (--part chooses)"));
  EXPECT_THAT(run_program("eval " + out() + " " + set()).output,
              HasSubstr(set() + ": of the parts train, val and test this is test (--part chooses)\n"
                                "8 images"));
}

TEST_F(Layouts, OfTrainAndTestLeaveTheTestAlone) {
  put_pictures({"train/cat", "train/dog", "test/cat", "test/dog"});
  const Outcome trained = train();
  EXPECT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("8 images to train on, 0 to validate"));
  EXPECT_THAT(trained.output, HasSubstr(set() + ": the part test is left alone; --val " + set() +
                                        " validates on it\n"));
  EXPECT_THAT(train("--val " + set() + " --out " + out() + "2").output,
              HasSubstr("validation: of the parts train and test this is test (--part chooses)\n"));
  const nlohmann::json json = check_json("--part test");
  EXPECT_EQ(json["data"]["part"], "test");
  EXPECT_EQ(json["data"]["parts"], nlohmann::json({"train", "test"}));
  EXPECT_FALSE(json.contains("val"));
}

TEST_F(Layouts, WithoutPartsRefuseAPart) {
  put_pictures({"cat", "dog"});
  const Outcome trained = train("--part train");
  EXPECT_EQ(trained.code, 2);
  EXPECT_THAT(trained.output,
              HasSubstr("plimsoll: --part train: " + set() +
                        " is not in parts; expected folders or files named train, val or test\n"
                        "hint: without --part all of it is read\n"));
}

TEST_F(Layouts, OfPartsWithoutClassesAreAskedAbout) {
  put_pictures({"train", "test"});
  expect_asks(
      "pictures, and no folders, in 'test', 'train': parts of a set whose classes are not told, or "
      "classes of these names",
      "--read-as classes takes them for classes; parts have a folder per class in each: " + set() +
          "/test/cat/1.jpg");
  const Outcome settled = check("--read-as classes");
  EXPECT_EQ(settled.code, 0) << settled.output;
  EXPECT_THAT(settled.output, HasSubstr("        0  test   4\n"));
}

TEST_F(Layouts, WithAPartTwiceAreAskedAbout) {
  put_pictures({"train/cat", "train_more/cat", "val/cat"});
  expect_asks("several folders for the part train in 'train', 'train_more', 'val'",
              "name the folder of the part itself; --read-as classes takes all for classes");
}

TEST_F(Layouts, WithOnePartAmongOtherFoldersAreAskedAbout) {
  put_pictures({"car", "train/steam", "train/diesel"});
  expect_asks(
      "'train' holds folders, as a part of a set does, and lies beside 'car', as a class does",
      "--part train reads that part alone; --read-as classes takes all for classes");
  EXPECT_EQ(check_json("--part train")["data"]["classes"][0]["name"], "diesel");
  EXPECT_EQ(check_json("--read-as classes")["data"]["classes"][1]["name"], "train");
}

TEST_F(Layouts, OfPartsNameWhatIsOfNoPart) {
  put_pictures({"train/cat", "train/dog", "val/cat", "val/dog", "more/cat"});
  EXPECT_THAT(train().output,
              HasSubstr(set() + ": of the parts train and val this is train (--part chooses); of "
                                "no part: more\n"));
}

TEST_F(Layouts, WithAClassNamedLikeAPartAreClasses) {
  put_pictures({"car", "bus", "crash_test/front"});
  EXPECT_THAT(check().output, HasSubstr("        2  crash_test  4\n"));
  std::filesystem::remove_all(set() + "/crash_test");
  put_pictures({"train"});
  EXPECT_THAT(check().output, HasSubstr("        2  train  4\n"));
}

TEST_F(Layouts, OfAnnotationsUnderOtherNamesAreBoxes) {
  put_pictures({"images"});
  for (const char* stem : {"0", "1", "2"}) put_xml("annots", stem);
  expect_boxes("Pascal VOC", 3, 3);
  EXPECT_THAT(check().output,
              HasSubstr(set() + ": 1 picture has no XML file and is passed over\n"));
}

TEST_F(Layouts, OfTheRaccoonsAreBoxes) {
  put_pictures({"images"});
  for (const char* stem : {"0", "1", "2", "3"}) put_xml("annotations", stem);
  put("data/train_labels.csv", "filename,width,height,class,xmin,ymin,xmax,ymax\n");
  put("training/pipeline.config", "model {}");
  expect_boxes("Pascal VOC", 4, 4);
}

TEST_F(Layouts, OfXmlBesidePicturesAreBoxes) {
  put_pictures({"."});
  for (const char* stem : {"0", "1", "2", "3"}) put_xml(".", stem);
  expect_boxes("Pascal VOC", 4, 4);
}

TEST_F(Layouts, OfPartsWithXmlBesidePicturesAreBoxes) {
  put_pictures({"train", "test"});
  for (const char* stem : {"0", "1", "2", "3"}) put_xml("train", stem);
  put_xml("test", "0");
  expect_boxes("Pascal VOC", 4, 4);
  EXPECT_EQ(check_json("--part test")["data"]["samples"], 1);
}

TEST_F(Layouts, OfXmlInFoldersThatMayBeClassesAreAskedAbout) {
  put_pictures({"apple", "pear"});
  put_xml("apple", "0");
  put_xml("pear", "1");
  expect_asks(
      "XML files lie beside the pictures in 'apple', 'pear': boxes of the pictures, or "
      "folders that are classes",
      "--read-as boxes reads the XML files; --read-as classes takes folders for classes");
  EXPECT_EQ(check_json("--read-as boxes")["data"]["boxes"], 2);
  EXPECT_EQ(check_json("--read-as classes")["data"]["samples"], 8);
}

TEST_F(Layouts, OfAnUnknownKindOfAnnotationsAreAskedAbout) {
  put_pictures({"images"});
  put("labels/0.txt", "0 0.5 0.5 0.2 0.2\n");
  expect_asks(
      "of 2 folders only 'images' holds pictures: pictures whose annotations are of a kind "
      "that is not known, or the only class that has any",
      "boxes are read from Pascal VOC's XML files, COCO's JSON or a CSV; --read-as classes "
      "takes the folders for classes");
}

TEST_F(Layouts, OneFolderTooHighAreAskedAbout) {
  put_pictures({"flowers/daisy", "flowers/rose"});
  expect_asks("all pictures are in folders of 'flowers': the set itself, or one class of that name",
              "give " + set() + "/flowers; --read-as classes takes it for a class");
}

TEST_F(Layouts, OfTensorflowsCsvAreBoxes) {
  put_pictures({"images"});
  put("data/train_labels.csv",
      "filename,width,height,class,xmin,ymin,xmax,ymax\n"
      "0.bmp,16,12,cat,0,0,8,6\n0.bmp,16,12,dog,8,6,16,12\n1.bmp,16,12,cat,0,0,8,6\n");
  put("data/test_labels.csv",
      "filename,width,height,class,xmin,ymin,xmax,ymax\n2.bmp,16,12,cat,0,0,8,6\n");
  expect_boxes("a list of boxes", 2, 3);
  EXPECT_THAT(check().output,
              HasSubstr("of the parts train and test this is train (--part chooses)\n"));
  EXPECT_EQ(check_json("--part test")["data"]["boxes"], 1);
}

TEST_F(Layouts, OfRoboflowsCsvInPartsAreBoxes) {
  put_pictures({"train", "valid"});
  for (const char* part : {"train", "valid"})
    put(std::string(part) + "/_annotations.csv",
        "filename,width,height,class,xmin,ymin,xmax,ymax\n0.bmp,16,12,cat,0,0,8,6\n"
        "1.bmp,16,12,cat,0,0,8,6\n");
  expect_boxes("a list of boxes", 2, 2);
}

TEST_F(Layouts, OfRecordsNamedByPartAreTakenByPart) {
  const auto shard = [](int records, unsigned seed) {
    std::string bytes;
    for (int i = 0; i < records; ++i)
      bytes += framed(ExampleText()
                          .bytes("image/encoded", {bmp_image(16, 12, seed + unsigned(i))})
                          .ints("image/class/label", {i % 2})
                          .text());
    return bytes;
  };
  put("flowers-train.tfrecord-00000-of-00002", shard(4, 0));
  put("flowers-train.tfrecord-00001-of-00002", shard(4, 10));
  put("flowers-validation.tfrecord-00000-of-00001", shard(2, 20));
  EXPECT_EQ(check_json("--part train")["data"]["samples"], 8);
  EXPECT_EQ(check_json("--part val")["data"]["samples"], 2);
  const Outcome trained = train();
  EXPECT_EQ(trained.code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("8 images to train on, 2 to validate"));
  EXPECT_THAT(trained.output,
              HasSubstr("validation: of the parts train and val this is val (--part chooses)\n"));
  const Outcome refused = train("--part test");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("plimsoll: --part test: " + set() +
                                        " has the parts train and val; expected one of them\n"));
}

TEST_F(Layouts, WithKindsThatAreNotReadSayHowMany) {
  put_pictures({"cat", "dog"});
  put("cat/a.tif", std::string("II*\0", 4));
  put("cat/b.TIFF", std::string("II*\0", 4));
  put("dog/c.ppm", "P6\n");
  const std::string text = set() + ": 3 files of a kind that is not read: 1 PPM, 2 TIFF\n";
  const Outcome checked = check();
  EXPECT_EQ(checked.code, 0) << checked.output;
  EXPECT_THAT(checked.output, HasSubstr("  note     " + text));
  EXPECT_THAT(train().output, HasSubstr(text));
}

TEST_F(Layouts, InColourAreNotTakenByAGreyNetworkInSilence) {
  put_pictures({"cat", "dog"});
  const std::string text = set() +
                           ": inception_mini takes grey pictures, and 8 pictures are in colour; "
                           "--channels 3 keeps the colour\n";
  EXPECT_THAT(check("--model inception_mini").output, HasSubstr("  note     " + text));
  EXPECT_THAT(train("--model inception_mini").output, HasSubstr(text));
  EXPECT_THAT(check("--model inception_mini --channels 3").output, Not(HasSubstr("in colour")));
  EXPECT_THAT(check().output, Not(HasSubstr("in colour")));
}

// As many phones write: an ordinary JPEG whose scan says Se = 0.
TEST_F(Layouts, WithPhotographsOfPhonesAreSound) {
  put_pictures({"cat", "dog"});
  const std::vector<std::byte> bytes = tests::golden_file("rgb420.jpg");
  std::string jpeg(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t scan = jpeg.find("\xFF\xDA");
  ASSERT_EQ(jpeg[scan + 12], 63);
  jpeg[scan + 12] = 0;
  put("cat/phone.jpg", jpeg);
  const Outcome checked = check();
  EXPECT_EQ(checked.code, 0) << checked.output;
  EXPECT_THAT(checked.output,
              HasSubstr("  note     " + set() +
                        ": 1 JPEG has invalid SOS parameters for sequential JPEG: cat/phone.jpg\n"
                        "           hint: read all the same: it changes no pixel\n"));
  EXPECT_EQ(check_json()["data"]["oddities"][0]["count"], 1);
  EXPECT_EQ(train().code, 0);
}

TEST_F(Layouts, WithOnePictureInTwoClassesTellItApartFromALeak) {
  put_pictures({"train/cat", "train/dog", "val/cat", "val/dog"});
  put("val/cat/same.bmp", content(set() + "/train/cat/1.bmp"));
  put("val/cat/other.bmp", content(set() + "/train/dog/1.bmp"));
  const Outcome checked = check();
  EXPECT_THAT(checked.output,
              HasSubstr(set() +
                        ": 1 sample is also in the training data under another class; the first: "
                        "val/cat/other.bmp (cat) = " +
                        set() + "/train/dog/1.bmp (dog)\n"));
  EXPECT_THAT(checked.output, HasSubstr(set() +
                                        ": 1 sample is also in the training data; the first: "
                                        "val/cat/same.bmp = " +
                                        set() + "/train/cat/1.bmp\n"));
  const nlohmann::json leaks = check_json()["val"]["leaks"];
  ASSERT_EQ(leaks.size(), 2U);
  EXPECT_EQ(leaks[0]["other_class"], true);
  EXPECT_EQ(leaks[0]["train_class"], "dog");
  EXPECT_EQ(leaks[1]["other_class"], false);
}

TEST_F(Layouts, WithBadFilesGiveTheirByteToPrograms) {
  put_pictures({"cat", "dog"});
  put("cat/cut.bmp", bmp_image(16, 12, 99).substr(0, 60));
  const nlohmann::json problems = check_json()["problems"];
  bool found = false;
  for (const auto& problem : problems)
    if (problem["where"] == set() + "/cat/cut.bmp: byte 60") found = problem.value("byte", 0) == 60;
  EXPECT_TRUE(found) << problems;
}

TEST_F(Layouts, OfManyClassesNameTheEmptyOnes) {
  std::vector<std::string> classes;
  for (int i = 10; i < 55; ++i) classes.push_back("c" + std::to_string(i));
  put_pictures(classes, 1);
  put("c60/notes.txt", "");
  put("c20/0.bmp", "");
  std::filesystem::remove(set() + "/c20/0.bmp");
  const Outcome checked = check();
  EXPECT_THAT(checked.output, HasSubstr("       10  c20  0\n"));
  EXPECT_THAT(checked.output,
              HasSubstr("    ... and 6 more, of which these are empty: c60 (--json has all)\n"));
}

}  // namespace
}  // namespace plimsoll
