// What the machine gives a run, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "machine/machine.h"

namespace plimsoll::cli {

void print_text(const Machine& machine);
nlohmann::ordered_json to_json(const Machine& machine);

}  // namespace plimsoll::cli
