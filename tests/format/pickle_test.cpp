#include "format/pickle.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

using namespace std::string_literals;
using Kind = PickleValue::Kind;

constexpr std::array<std::string_view, 2> kNames = {"collections.OrderedDict", "torch.Size"};

Pickle parse(std::string_view bytes) {
  return parse_pickle(std::as_bytes(std::span(bytes)), {.where = "x", .names = kNames});
}

TEST(Pickle, ReadsNumbersAndTexts) {
  const std::string bytes =
      "\x80\x02(K\x07M\x00\x01J\xFF\xFF\xFF\xFF\x8A\x02\x00\x80\x8A\x00"
      "G\x3F\xF8\x00\x00\x00\x00\x00\x00\x88\x89NX\x02\x00\x00\x00hi"
      "U\x02yo"
      "C\x01zt."s;
  const Pickle pickle = parse(bytes);
  EXPECT_EQ(pickle.size, bytes.size());
  const std::vector<PickleId>& items = pickle.top().items;
  ASSERT_EQ(items.size(), 12U);
  EXPECT_EQ(pickle[items[0]].integer, 7);
  EXPECT_EQ(pickle[items[1]].integer, 256);
  EXPECT_EQ(pickle[items[2]].integer, -1);
  EXPECT_EQ(pickle[items[3]].integer, -32768);
  EXPECT_EQ(pickle[items[4]].integer, 0);
  EXPECT_EQ(pickle[items[5]].real, 1.5);
  EXPECT_EQ(pickle[items[6]].integer, 1);
  EXPECT_EQ(pickle[items[7]].kind, Kind::boolean);
  EXPECT_EQ(pickle[items[8]].kind, Kind::none);
  EXPECT_EQ(pickle[items[9]].text, "hi");
  EXPECT_EQ(pickle[items[10]].text, "yo");
  EXPECT_EQ(pickle[items[11]].kind, Kind::bytes);
}

TEST(Pickle, KeepsCallsAsValues) {
  const std::string bytes =
      "\x80\x02"
      "ccollections\nOrderedDict\n)R(K\x01K\x02u}b.";
  const Pickle pickle = parse(bytes);
  EXPECT_TRUE(pickle.top().is_call_of("collections.OrderedDict"));
  EXPECT_EQ(pickle.top().items.size(), 2U);
}

TEST(Pickle, NamesWhatItWouldCallAndCallsNothing) {
  EXPECT_COMPLAINT(parse("\x80\x02"
                         "cposix\nsystem\n(X\x02\0\0\0lstR."s),
                   DataError, "x: byte 2: it calls posix.system");
  EXPECT_COMPLAINT(parse("\x80\x04\x8C\x02os\x8C\x06system\x93."s), DataError, "calls os.system");
  EXPECT_COMPLAINT(parse("\x80\x02(ios\nsystem\n."s), DataError, "calls os.system");
  EXPECT_COMPLAINT(parse("\x80\x02"
                         "ccollections.OrderedDict\n\n."s),
                   DataError, "it calls");
}

TEST(Pickle, SaysWhatIsWrongWithAProgram) {
  EXPECT_COMPLAINT(parse(""), DataError, "1 bytes where 0 are left");
  EXPECT_COMPLAINT(parse("\x80\x09."), DataError, "protocol 9");
  EXPECT_COMPLAINT(parse("."), DataError, "an empty stack");
  EXPECT_COMPLAINT(parse("t."), DataError, "no mark");
  EXPECT_COMPLAINT(parse("N(R."), DataError, "an empty stack");
  EXPECT_COMPLAINT(parse("h\x05."), DataError, "memo 5");
  EXPECT_COMPLAINT(parse("Nr\xFF\xFF\xFF\x7F."), DataError, "memo 2147483647");
  EXPECT_COMPLAINT(parse("NN\x85R."), DataError, "a call of what is no name");
  EXPECT_COMPLAINT(parse("NNa."), DataError, "no list");
  EXPECT_COMPLAINT(parse("]NNs."), DataError, "no dict");
  EXPECT_COMPLAINT(parse("X\xFF\xFF\xFF\xFF."), DataError, "4294967295 bytes");
  EXPECT_COMPLAINT(parse("I1\n."), DataError, "opcode 73");
  EXPECT_COMPLAINT(parse("cos"), DataError, "does not end");
}

TEST(Pickle, SurvivesValuesThatHoldThemselvesAndDeepOnes) {
  EXPECT_EQ(parse("]q\0h\0a."s).top().items.size(), 1U);
  std::string deep = "N";
  deep.append(500'000, '\x85');
  EXPECT_EQ(parse(deep + ".").values.size(), 500'001U);
}

TEST(Pickle, HoldsNoMoreThanAMillionValues) {
  EXPECT_COMPLAINT(parse(std::string(2'000'000, 'N')), DataError, "more than 1048576 values");
}

}  // namespace
}  // namespace plimsoll
