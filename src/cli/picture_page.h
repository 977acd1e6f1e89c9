// A page of samples with their labels and boxes, to look at.
#pragma once

#include <filesystem>

#include "cli/data_report.h"

namespace plimsoll::cli {

// Writes folder/index.html and the pictures it shows, small, as PNG: some of every class, and those
// in which something was found. Existing files of the same names are replaced. Returns the path of
// the page. DataError if it cannot be written.
std::filesystem::path write_picture_page(const job::ScannedData& data,
                                         const std::filesystem::path& folder);

}  // namespace plimsoll::cli
