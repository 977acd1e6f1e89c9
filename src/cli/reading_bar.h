// How far a scan before a run is, on standard error.
#pragma once

#include <string>

#include "job/training_data.h"

namespace plimsoll::cli {

// One bar after the other for the sources of `data`.
job::OnScan reading_bar(const std::string& data, bool quiet);

// "plimsoll: photos/12.jpg: ...; left out".
void print_left_out(const Complaint& complaint);

}  // namespace plimsoll::cli
