// What a scan means, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/problem.h"
#include "data/data.h"

namespace plimsoll::cli {

// A set that was opened and scanned.
struct ScannedData {
  std::string name;  // as the user named it
  SourcePtr source;
  ScanReport report;
  std::string heading = "data";  // "val" for what is validated on

  // Where sample i is, counted from the set itself: "cats/12.jpg".
  std::string place(std::int64_t i) const;
  // What cannot be read: of the list, and of the samples.
  std::int64_t bad() const;
};

// Adds what is wrong with one set.
void find_problems(const ScannedData& data, std::vector<Problem>& problems);
// Adds what is wrong between two: leaks, classes that only one has.
void find_problems(const ScannedData& train, const ScannedData& validation,
                   std::vector<Problem>& problems);

// What to know when pictures in colour meet a network that by itself takes grey ones; else empty.
std::string grey_note(const ModelOptions& model, const ScanReport& report);

void print_text(const ScannedData& data);
nlohmann::ordered_json to_json(const ScannedData& data);
// Samples of `validation` that are in `train` too, all of them, with both classes.
nlohmann::ordered_json leaks_json(const ScannedData& train, const ScannedData& validation);

}  // namespace plimsoll::cli
