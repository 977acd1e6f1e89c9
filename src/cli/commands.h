// The commands. Each adds its options to a subcommand and runs when chosen; the result is the exit
// code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace plimsoll::cli {

using Entry = std::function<int()>;

Entry add_plan(CLI::App& command);
Entry add_summary(CLI::App& command);
Entry add_bench(CLI::App& command);
Entry add_train(CLI::App& command);
Entry add_check(CLI::App& command);
Entry add_eval(CLI::App& command);
Entry add_export(CLI::App& command);
Entry add_import(CLI::App& command);
Entry add_predict(CLI::App& command);
Entry add_find_lr(CLI::App& command);
Entry add_top(CLI::App& command);

}  // namespace plimsoll::cli
