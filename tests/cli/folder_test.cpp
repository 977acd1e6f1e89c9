// `plimsoll train` on a folder of pictures: it learns from them, repeats itself, and bad files are
// found before step 1.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

// A 24x24 BMP of one colour with a little texture.
void put_picture(const std::filesystem::path& path, int red, int green, int number) {
  constexpr int kSide = 24;
  std::string file(54, '\0');
  const auto number_at = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
  };
  file[0] = 'B';
  file[1] = 'M';
  number_at(2, 54 + kSide * kSide * 3);
  number_at(10, 54);
  number_at(14, 40);
  number_at(18, kSide);
  number_at(22, kSide);
  number_at(26, 1 | 24U << 16);
  for (int i = 0; i < kSide * kSide; ++i) {
    file += static_cast<char>((i * 7 + number * 13) % 60);
    file += static_cast<char>(green);
    file += static_cast<char>(red);
  }
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << file;
}

class Folder : public testing::Test {
 protected:
  Folder() {
    for (int i = 0; i < 24; ++i) {
      put_picture(data() / "green" / (std::to_string(i) + ".bmp"), 20 + i, 200, i);
      put_picture(data() / "red" / (std::to_string(i) + ".bmp"), 200, 20 + i, i);
    }
  }
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::filesystem::path out(const char* name) const { return folder_.path() / name; }
  Outcome train(const char* name, const std::string& more = "") const {
    return run_program("train " + data().string() +
                       " --model xception_mini --image 24 --batch 8 --epochs 3 --lr 0.02 "
                       "--val-split 0.25 --augment horizontal_flip --quiet --out " +
                       out(name).string() + " " + more);
  }
  const TemporaryFolder folder_;
};

TEST_F(Folder, IsLearntFromAndRepeatsItselfAtEveryBudget) {
  const Outcome first = train("a", "--memory unlimited");
  ASSERT_EQ(first.code, 0) << first.output;
  const auto report = nlohmann::json::parse(content(out("a") / "report.json"));
  EXPECT_EQ(report["images"], 3 * 36);
  EXPECT_LT(report["loss"].get<double>(), 0.6) << "two colours are easy";
  const Outcome planned =
      run_program("plan " + data().string() +
                  " --model xception_mini --image 24 --batch 8 --val-split 0.25 "
                  "--augment horizontal_flip --memory unlimited --json");
  const auto plan = nlohmann::json::parse(planned.output);
  EXPECT_EQ(plan["total_bytes"], report["predicted_bytes"]);
  const Outcome small = train("b", "--memory " + plan["floor_bytes"].dump());
  ASSERT_EQ(small.code, 0) << small.output;
  EXPECT_TRUE(content(out("a") / "weights/last.safetensors") ==
              content(out("b") / "weights/last.safetensors"));
}

TEST_F(Folder, WithBadFilesIsRefusedBeforeStepOneOrTrainedWithoutThem) {
  std::ofstream(data() / "red" / "broken.jpg") << "not a picture";
  std::ofstream(data() / "green" / "empty.png") << "";
  const Outcome refused = train("a");
  EXPECT_EQ(refused.code, 1) << refused.output;
  for (const char* name : {"broken.jpg", "empty.png", "--bad-files skip"})
    EXPECT_NE(refused.output.find(name), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(out("a")));
  const Outcome skipped = train("b", "--bad-files skip");
  EXPECT_EQ(skipped.code, 0) << skipped.output;
  const std::string listed = content(out("b") / "bad_files.txt");
  for (const char* name : {"broken.jpg", "empty.png"})
    EXPECT_NE(listed.find(name), std::string::npos) << listed;
}

TEST_F(Folder, ThatIsNoneIsRefusedByName) {
  const Outcome outcome = run_program("train /nowhere/photos --model xception_mini");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("/nowhere/photos"), std::string::npos) << outcome.output;
}

TEST(OddNames, AClassFolderThatIsNotUtf8IsNamedByTrainAndByCheck) {
  const ImageFolder images(2, 6);
  const TemporaryFolder out;
  std::filesystem::copy(images.folder().path() / "c0", images.folder().path() / "caf\xe9");
  const std::string data = images.folder().path().string();
  const std::string train = "train " + data +
                            " --model inception_mini --image 20 --batch 3 "
                            "--epochs 1 --threads 1 --quiet --out " +
                            (out.path() / "run").string();
  const Outcome stopped = run_program(train);
  EXPECT_EQ(stopped.code, 1);
  EXPECT_NE(stopped.output.find("is not UTF-8"), std::string::npos) << stopped.output;
  EXPECT_EQ(stopped.output.find("json.exception"), std::string::npos) << stopped.output;
  const Outcome checked = run_program("check " + data);
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.output.find("is not UTF-8"), std::string::npos) << checked.output;
  EXPECT_EQ(run_program(train + " --bad-files skip").code, 0);
  // A picture may have any name.
  std::filesystem::copy(images.file(0, 0), images.folder().path() / "od\xe9.bmp");
  const Outcome predicted = run_program("predict " + (out.path() / "run").string() + " " + data +
                                        "/od*.bmp --json --threads 1");
  EXPECT_EQ(predicted.code, 0) << predicted.output;
  EXPECT_NE(predicted.output.find("\"classes\""), std::string::npos) << predicted.output;
}

}  // namespace
}  // namespace plimsoll
