// Elementwise work as runs of contiguous floats, the same for every operand.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// A tensor cut into runs: for images that may be slices, one run per (image, channel block); for
// others pieces of fixed length, so that the cut depends on the shape only.
struct Runs {
  std::int64_t count = 0;
  std::int64_t length = 0;     // of all but the last piece
  std::int64_t total = 0;      // elements in all
  std::int64_t per_image = 0;  // runs per image; 0 for plain pieces
  std::int64_t lanes = 0;      // of a block

  explicit Runs(const Spec& spec) : total(spec.stored_elements()), lanes(spec.lanes) {
    if (spec.layout == Layout::blocked) {
      length = spec.shape[2] * spec.shape[3] * lanes;
      per_image = spec.blocks();
      count = spec.shape[0] * per_image;
    } else {
      constexpr std::int64_t kPiece = 16384;
      length = kPiece;
      count = (total + kPiece - 1) / kPiece;
    }
  }
  std::int64_t length_of(std::int64_t run) const {
    return run + 1 < count || per_image > 0 ? length : total - run * length;
  }
  template <class T>
  T* of(const TensorView& view, std::int64_t run) const {
    if (per_image == 0) return view.as<T>() + run * length;
    return view.image<T>(run / per_image) + run % per_image * length;
  }
  // Lanes of the run that are channels: all unless it is the last block of a padded tensor.
  std::int64_t lanes_of(const Spec& spec, std::int64_t run) const {
    if (per_image == 0) return lanes;
    const std::int64_t rest = spec.shape[1] - run % per_image * lanes;
    return rest < lanes ? rest : lanes;
  }
};

// Calls body.template operator()<T, lanes>() with the types that the elements of `spec` have and
// the lanes of its blocks.
template <class Body>
void with_element_and_lanes(const Spec& spec, Body body) {
  for_element(spec.dtype, [&]<class T>(T) {
    with_lanes(spec, [&]<std::int64_t lanes>() { body.template operator()<T, lanes>(); });
  });
}

}  // namespace plimsoll::kernels
