// What the columns of a list of pictures mean.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "data/source/csv.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

struct ListColumns {
  // Pixels from the picture's upper left corner.
  struct Corners {
    std::size_t x0, y0, x1, y1;
  };
  struct PictureSize {
    std::size_t width, height;
  };
  std::size_t path = 0;
  std::size_t label = 1;
  std::optional<Corners> corners = {};  // set: a row is a box, and a picture may have several rows
  std::optional<PictureSize> size = {};
  bool has_header = false;
  // Of lists with several labels or with numbers: every column but the path.
  TargetKind targets = TargetKind::label;

  // Fields that a row must have.
  std::size_t count() const;
};

// By the list's first row. A header names the columns, in any order and among others: path, file,
// filename, image, ...; label, class, category, ...; xmin, ymin, xmax, ymax, or x1, y1, x2, y2, or
// left, top, right, bottom; width, height. Without a header: path,label; path,x1,y1,x2,y2,class
// (keras-retinanet's); filename,width,height,class,xmin,ymin,xmax,ymax (TensorFlow's); path,number
// where the number has a fraction. Several labels are read where they are asked for. DataError with
// both readings where a row may be a box or not and `reading` does not say; UsageError if
// boxes are asked for and there are none.
ListColumns find_columns(const CsvRow& first, Reading reading, std::string_view where);

}  // namespace plimsoll
