// The front door of draw: pictures as SVG text and PNG bytes, from plain numbers.
#pragma once

#include "draw/axis.h"               // IWYU pragma: export
#include "draw/box_picture.h"        // IWYU pragma: export
#include "draw/confusion_chart.h"    // IWYU pragma: export
#include "draw/line_chart.h"         // IWYU pragma: export
#include "draw/mosaic.h"             // IWYU pragma: export
#include "draw/palette.h"            // IWYU pragma: export
#include "draw/png.h"                // IWYU pragma: export
#include "draw/svg.h"                // IWYU pragma: export
#include "draw/training_pictures.h"  // IWYU pragma: export
