// The commands. Each adds its options to a subcommand and runs when chosen; the result is the exit
// code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace plimsoll::cli {

using Action = std::function<int()>;

Action add_plan(CLI::App& command);
Action add_summary(CLI::App& command);
Action add_bench(CLI::App& command);
Action add_train(CLI::App& command);
Action add_check(CLI::App& command);
Action add_eval(CLI::App& command);
Action add_predict(CLI::App& command);
Action add_find_lr(CLI::App& command);
Action add_top(CLI::App& command);

}  // namespace plimsoll::cli
