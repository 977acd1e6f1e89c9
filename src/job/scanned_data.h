// What a scan means: what is wrong with a set of pictures, and between two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data.h"
#include "machine/remark.h"

namespace plimsoll::job {

// A set that was opened and scanned.
struct ScannedData {
  std::string name;  // as the user named it
  SourcePtr source;
  ScanReport report;
  std::string heading = "data";  // "val" for what is validated on

  // Where sample i is, counted from the set itself: "cats/12.jpg".
  std::string place(std::int64_t i) const;
  // The name of a sample's class; empty where it has none.
  std::string class_of(std::int64_t i) const;
  // What cannot be read: of the list, and of the samples.
  std::int64_t bad() const;
};

// Adds what is wrong with one set.
void find_remarks(const ScannedData& data, std::vector<Remark>& remarks);
// Adds what is wrong between two: leaks, classes that only one has.
void find_remarks(const ScannedData& train, const ScannedData& validation,
                  std::vector<Remark>& remarks);

// "1 class has", "3 classes have".
std::string counted(std::int64_t count, std::string_view one, std::string_view many);

}  // namespace plimsoll::job
