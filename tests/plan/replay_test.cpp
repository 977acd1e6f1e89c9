// The checker: good plans pass, and every kind of damage to a plan is found.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "tests/support/zoo_trainer.h"

namespace plimsoll {
namespace {

class Checker : public testing::Test {
 protected:
  std::optional<std::string> fault(const Tape& tape) {
    return find_fault(problem_.graph(), tape, trainer_.tapes().replay_rules(0));
  }
  // A tape with recomputation, 16-bit forms and transfers in it.
  Tape mixed() {
    Fates fates = problem_.all(Fate::keep);
    const Fate turns[] = {Fate::redo_once, Fate::half,  Fate::keep,
                          Fate::redo_each, Fate::spill, Fate::half_once};
    std::size_t turn = 0;
    for (std::int32_t root : problem_.choices()) {
      const Fate fate = turns[turn++ % std::size(turns)];
      if (problem_.permits(root, fate)) fates[static_cast<std::size_t>(root)] = fate;
    }
    return make_tape(problem_, fates);
  }
  // Damages one instruction after the other and counts those that the checker lets pass.
  template <class Damage>
  std::pair<int, int> missed(Damage damage) {
    int tried = 0;
    int passed = 0;
    for (std::size_t i = 0; i < good_.instructions.size(); ++i) {
      Tape tape = good_;
      if (!damage(tape, i)) continue;
      ++tried;
      if (!fault(tape)) ++passed;
    }
    return {tried, passed};
  }

  Trainer trainer_ = zoo_trainer("inception_mini", 8);
  const Problem problem_ = trainer_.tapes().problem(0);
  const Tape good_ = mixed();
};

TEST_F(Checker, PassesPlansOfEveryKind) {
  EXPECT_EQ(fault(good_), std::nullopt);
  EXPECT_FALSE(good_.transfers.empty());
  for (const Fate fate :
       {Fate::keep, Fate::redo_once, Fate::redo_each, Fate::half, Fate::spill, Fate::half_once}) {
    Scheduler scheduler(problem_);
    if (!scheduler.run(problem_.all(fate))) continue;
    EXPECT_EQ(fault(make_tape(problem_, problem_.all(fate))), std::nullopt);
  }
}

TEST_F(Checker, FindsAnInstructionThatIsMissing) {
  // What only prepares for later may turn out not to be needed; what the graph asks for never.
  const auto [tried, passed] = missed([](Tape& tape, std::size_t i) {
    if (tape.instructions[i].kind != StepKind::run || tape.instructions[i].again) return false;
    tape.instructions.erase(tape.instructions.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  });
  EXPECT_GT(tried, 100);
  EXPECT_EQ(passed, 0);
}

TEST_F(Checker, FindsAnInputThatIsReadFromTheWrongPlace) {
  const auto [tried, passed] = missed([](Tape& tape, std::size_t i) {
    if (tape.instructions[i].in.empty()) return false;
    tape.instructions[i].in[0] += 64;
    return true;
  });
  EXPECT_GT(tried, 100);
  EXPECT_EQ(passed, 0);
}

TEST_F(Checker, FindsAnOutputThatIsWrittenToTheWrongPlace) {
  // What nobody reads may lie anywhere that is free: one of two results of a node that only runs
  // again for the other, a 16-bit form that is not unpacked any more.
  const auto is_read = [&](const Tape& tape, std::size_t i) {
    const Graph& graph = problem_.graph();
    const Instruction& maker = tape.instructions[i];
    const ValueId made = maker.kind == StepKind::run ? graph.node(maker.node).out[0] : maker.value;
    const auto has = [&](const Values& ids) {
      return std::find(ids.begin(), ids.end(), made) != ids.end();
    };
    for (std::size_t j = i + 1; j < tape.instructions.size(); ++j) {
      const Instruction& later = tape.instructions[j];
      if (later.kind != StepKind::run) {
        if (later.value == made) return maker.kind != later.kind;
      } else if (maker.kind != StepKind::pack) {
        if (has(graph.node(later.node).in)) return true;
        if (has(graph.node(later.node).out)) return false;
      }
    }
    return !maker.again && maker.kind == StepKind::run;
  };
  const auto [tried, passed] = missed([&](Tape& tape, std::size_t i) {
    if (tape.instructions[i].out.empty() || !is_read(tape, i)) return false;
    tape.instructions[i].out[0] += 64;
    return true;
  });
  EXPECT_GT(tried, 100);
  EXPECT_EQ(passed, 0);
}

TEST_F(Checker, FindsWhatLiesOutsideTheArena) {
  const auto [tried, passed] = missed([](Tape& tape, std::size_t i) {
    for (std::int64_t& out : tape.instructions[i].out) out += tape.arena_bytes;
    return !tape.instructions[i].out.empty();
  });
  EXPECT_GT(tried, 100);
  EXPECT_EQ(passed, 0);
  Tape small = good_;
  small.arena_bytes -= 64;
  EXPECT_NE(fault(small), std::nullopt);
}

TEST_F(Checker, FindsScratchThatLiesOverAnOperand) {
  const ReplayRules rules = trainer_.tapes().replay_rules(0);
  const auto [tried, passed] = missed([&](Tape& tape, std::size_t i) {
    Instruction& instruction = tape.instructions[i];
    if (instruction.kind != StepKind::run || instruction.in.empty()) return false;
    if (rules.scratch[instruction.node.at()] == 0) return false;
    instruction.scratch = instruction.in[0];
    return true;
  });
  EXPECT_GT(tried, 5);
  EXPECT_EQ(passed, 0);
}

TEST_F(Checker, FindsA16BitFormWrittenOverAnOperandOrTooFarOrByTheWrongOp) {
  const auto [tried, passed] = missed([](Tape& tape, std::size_t i) {
    Instruction& instruction = tape.instructions[i];
    if (instruction.packed < 0) return false;
    instruction.packed = i % 2 == 0 ? instruction.in[0] : tape.arena_bytes - 64;
    return true;
  });
  EXPECT_GT(tried, 2);
  EXPECT_EQ(passed, 0);
  const auto [lent, unnoticed] = missed([&](Tape& tape, std::size_t i) {
    Instruction& instruction = tape.instructions[i];
    if (instruction.kind != StepKind::run || instruction.packed >= 0) return false;
    if (problem_.request().work[instruction.node.at()].packs) return false;
    instruction.packed = tape.arena_bytes;
    tape.arena_bytes *= 2;
    return true;
  });
  EXPECT_GT(lent, 100);
  EXPECT_EQ(unnoticed, 0);
}

TEST_F(Checker, FindsInstructionsInTheWrongOrder) {
  // Neighbours that do not depend on each other may be exchanged: the beginning and the end of the
  // step may not.
  Tape tape = good_;
  std::swap(tape.instructions.front(), tape.instructions.back());
  EXPECT_NE(fault(tape), std::nullopt);
  std::reverse(tape.instructions.begin(), tape.instructions.end());
  EXPECT_NE(fault(tape), std::nullopt);
}

TEST_F(Checker, FindsAnInstructionThatRunsTwice) {
  const auto [tried, passed] = missed([](Tape& tape, std::size_t i) {
    if (tape.instructions[i].kind != StepKind::run || tape.instructions[i].again) return false;
    tape.instructions.push_back(tape.instructions[i]);
    return true;
  });
  EXPECT_GT(tried, 100);
  EXPECT_EQ(passed, 0);
}

TEST_F(Checker, FindsARecomputationOfOtherValues) {
  // Reading a weight after its update is the classic one: a recomputation moved to the end.
  int tried = 0;
  for (std::size_t i = 0; i < good_.instructions.size(); ++i) {
    if (good_.instructions[i].kind != StepKind::run || !good_.instructions[i].again) continue;
    const Values& in = problem_.graph().node(good_.instructions[i].node).in;
    if (std::none_of(in.begin(), in.end(), [&](ValueId id) {
          return problem_.graph().value(id).role == Role::parameter;
        }))
      continue;
    Tape tape = good_;
    tape.instructions.push_back(tape.instructions[i]);
    EXPECT_NE(fault(tape), std::nullopt) << i;
    ++tried;
  }
  EXPECT_GT(tried, 3);
}

TEST_F(Checker, FindsTransfersThatAreMissingLateOrMisplaced) {
  // A value that is stored and never read back was not needed.
  const auto is_needed = [&](const Transfer& transfer) {
    return !transfer.store || std::ranges::any_of(good_.transfers, [&](const Transfer& other) {
      return !other.store && other.value == transfer.value;
    });
  };
  // Nor is reading it back to where it still lies, if nothing came over it.
  const auto lies_there_still = [&](const Transfer& transfer) {
    return !transfer.store && std::ranges::any_of(good_.transfers, [&](const Transfer& other) {
      return other.store && other.value == transfer.value && other.offset == transfer.offset;
    });
  };
  int passed = 0, needed = 0;
  for (std::size_t t = 0; t < good_.transfers.size(); ++t) {
    if (!is_needed(good_.transfers[t])) continue;
    ++needed;
    Tape tape = good_;
    tape.transfers.erase(tape.transfers.begin() + static_cast<std::ptrdiff_t>(t));
    if (!fault(tape) && !lies_there_still(good_.transfers[t])) ++passed;
    tape = good_;
    tape.transfers[t].offset += 64;
    if (!fault(tape)) ++passed;
    tape = good_;
    tape.transfers[t].file_offset += 4096;
    if (!fault(tape)) ++passed;
    tape = good_;
    if (!tape.transfers[t].store) {
      tape.transfers[t].end = static_cast<std::int32_t>(tape.instructions.size());
      if (!fault(tape)) ++passed;
    }
  }
  EXPECT_GT(needed, 4);
  EXPECT_EQ(passed, 0);
}

TEST_F(Checker, FindsAResultThatIsNotThere) {
  for (std::size_t r = 0; r < good_.results.size(); ++r) {
    Tape tape = good_;
    tape.results.erase(tape.results.begin() + static_cast<std::ptrdiff_t>(r));
    EXPECT_NE(fault(tape), std::nullopt);
    tape = good_;
    tape.results[r].offset += 64;
    EXPECT_NE(fault(tape), std::nullopt);
  }
}

TEST_F(Checker, RefusesDamagedTextAtEveryByte) {
  const std::string good = plan_text(good_, problem_.graph());
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 500) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    EXPECT_THROW(parse_plan(bad, problem_.graph(), "plan"), DataError) << i;
    EXPECT_THROW(parse_plan(good.substr(0, i), problem_.graph(), "plan"), DataError) << i;
  }
}

// A tape that exchanges sums with other ranks, in several buckets, and gathers weights from them.
class ExchangeChecker : public testing::Test {
 protected:
  std::optional<std::string> fault(const Tape& tape) {
    return find_fault(problem_.graph(), tape, trainer_.tapes().replay_rules(0));
  }

  Trainer trainer_ = zoo_trainer("inception_mini", 8,
                                 {.accumulate = 4,
                                  .place = {.rank = 0, .ranks = 2},
                                  .bucket_bytes = std::int64_t{64} << 10,
                                  .shard_optimizer = true});
  const Problem problem_ = trainer_.tapes().problem(0);
  const Tape good_ = make_tape(problem_, problem_.cheap());
};

TEST_F(ExchangeChecker, PassesWhatThePlannerMakesAndItsText) {
  EXPECT_EQ(fault(good_), std::nullopt);
  EXPECT_GT(good_.exchanges.size(), 3U);
  const std::string text = plan_text(good_, problem_.graph());
  EXPECT_TRUE(parse_plan(text, problem_.graph(), "printed") == good_);
}

TEST_F(ExchangeChecker, FindsEveryDamageToAnExchange) {
  using Damage = void (*)(Tape&, std::size_t);
  const std::pair<const char*, Damage> damages[] = {{"missing",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges.erase(
                                                           tape.exchanges.begin() +
                                                           static_cast<std::ptrdiff_t>(e));
                                                     }},
                                                    {"twice",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges.insert(
                                                           tape.exchanges.begin() +
                                                               static_cast<std::ptrdiff_t>(e),
                                                           tape.exchanges[e]);
                                                     }},
                                                    {"out of order",
                                                     [](Tape& tape, std::size_t e) {
                                                       std::swap(
                                                           tape.exchanges[e],
                                                           tape.exchanges[(e + 1) %
                                                                          tape.exchanges.size()]);
                                                     }},
                                                    {"of another node",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].node = NodeId{0};
                                                     }},
                                                    {"of no node",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].node = kNoNode;
                                                     }},
                                                    {"elsewhere",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].segments[0].offset += 64;
                                                     }},
                                                    {"outside the arena",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].segments.back().offset =
                                                           tape.arena_bytes;
                                                     }},
                                                    {"too short",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].segments[0].bytes -= 4;
                                                     }},
                                                    {"too long",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].segments[0].bytes += 64;
                                                     }},
                                                    {"without a slot",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].segments.pop_back();
                                                     }},
                                                    {"another's slot",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].segments.back() =
                                                           tape.exchanges[e].segments.front();
                                                     }},
                                                    {"too early",
                                                     [](Tape& tape,
                                                        std::size_t
                                                            e) { --tape.exchanges[e].begin; }},
                                                    {"too late",
                                                     [](Tape& tape,
                                                        std::size_t
                                                            e) { ++tape.exchanges[e].begin; }},
                                                    {"behind its first reader",
                                                     [](Tape& tape,
                                                        std::size_t e) { ++tape.exchanges[e].end; }},
                                                    {"never complete",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].end =
                                                           static_cast<std::int32_t>(
                                                               tape.instructions.size()) +
                                                           1;
                                                     }},
                                                    {"before it begins",
                                                     [](Tape& tape, std::size_t e) {
                                                       tape.exchanges[e].end =
                                                           tape.exchanges[e].begin - 1;
                                                     }}};
  int tried = 0;
  for (const auto& [name, damage] : damages)
    for (std::size_t e = 0; e < good_.exchanges.size(); ++e) {
      Tape tape = good_;
      damage(tape, e);
      ++tried;
      if (tape == good_) continue;  // of one tensor the first is the last
      EXPECT_NE(fault(tape), std::nullopt) << "exchange " << e << " " << name;
    }
  EXPECT_GE(tried, 50);
}

TEST_F(ExchangeChecker, FindsInstructionsThatTouchWhatIsUnderWay) {
  int tried = 0;
  for (const Exchange& exchange : good_.exchanges)
    for (std::int32_t i = exchange.begin; i < exchange.end; i += 3) {
      Tape tape = good_;
      Instruction& between = tape.instructions[static_cast<std::size_t>(i)];
      if (between.kind != StepKind::run || between.out.empty()) continue;
      if (problem_.graph().node(between.node).op->exchanged) continue;
      between.out[0] = exchange.segments[0].offset;
      ++tried;
      if (tape == good_) continue;  // of one tensor the first is the last
      EXPECT_NE(fault(tape), std::nullopt) << "instruction " << i;
    }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace plimsoll
