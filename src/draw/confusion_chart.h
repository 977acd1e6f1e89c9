// Which classes are taken for which.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::draw {

// A heat map as a whole SVG file: a row for each true class, a column for each predicted one,
// coloured by the share of the row. counts[truth * names.size() + predicted]; it must have
// names.size() squared elements. Up to 25 classes every cell shows its number, beyond that the
// pointer does. The words above tell the accuracy and the pairs most often confused.
std::string confusion_chart_svg(std::string_view title, std::span<const std::string> names,
                                std::span<const std::int64_t> counts);

}  // namespace plimsoll::draw
