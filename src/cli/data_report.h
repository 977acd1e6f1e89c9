// A scan, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "job/scanned_data.h"

namespace plimsoll::cli {

void print_text(const job::ScannedData& data);
nlohmann::ordered_json to_json(const job::ScannedData& data);
// Samples of `validation` that are in `train` too, all of them, with both classes.
nlohmann::ordered_json leaks_json(const job::ScannedData& train,
                                  const job::ScannedData& validation);

}  // namespace plimsoll::cli
