// Copies of images that a convolution by oneDNN reads or writes instead of its operands: the cells
// that a strided 1x1 sees, and f32 of what is bf16 and cannot be multiplied as it is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/convolution_shape.h"
#include "kernels/onednn/convolution_primitive.h"
#include "kernels/short_reals.h"
#include "kernels/subsample.h"

namespace plimsoll::kernels::onednn {

// Scratch for copies of images: the cells that a strided 1x1 sees, or f32 of bf16. Small enough to
// stay in the caches between the copy and the convolution; the sums of grad_kernel would suffer
// from many small parts.
inline constexpr std::int64_t kCopyBytes = std::int64_t{4} << 20;
inline constexpr std::int64_t kCopyBytesSummed = std::int64_t{16} << 20;

// A 1x1 over every s-th cell, which we gather or, for the input's gradient, put back. oneDNN
// gathers these cells itself, but only where the strides are equal and divide the image's size;
// elsewhere it takes a path at half the speed, and for the input's gradient it has no better one.
inline bool is_strided_point(const ConvolutionShape& s, Pass pass) {
  const Slide &h = s.window.h, &w = s.window.w;
  const auto sees_whole_image = [](const Slide& a) {
    return a.kernel == 1 && a.before == 0 && a.out == (a.in - 1) / a.stride + 1;
  };
  const bool is_strided = h.stride > 1 || w.stride > 1;
  const bool native = pass != Pass::grad_input && h.stride == w.stride && h.in % h.stride == 0 &&
                      w.in % w.stride == 0;
  return is_strided && sees_whole_image(h) && sees_whole_image(w) && !native && !s.plain_input;
}

// The dense convolution over the cells that a strided 1x1 sees.
inline ConvolutionShape over_seen_cells(ConvolutionShape s) {
  s.window.h = {.in = s.window.h.out, .out = s.window.h.out};
  s.window.w = {.in = s.window.w.out, .out = s.window.w.out};
  return s;
}

inline Grid grid_of(const ConvolutionShape& s, std::int64_t images) {
  return {.lanes = s.lanes,
          .planes = images * s.channels / s.lanes,
          .height = s.window.h.in,
          .width = s.window.w.in,
          .stride_h = s.window.h.stride,
          .stride_w = s.window.w.stride};
}

// Scratch laid out piece by piece, each piece on its own cache line.
class Pieces {
 public:
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t at = bytes_;
    bytes_ = round_up(bytes_ + bytes, 64);
    return at;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

// Where the images before and after a convolution are for the primitive, a few at a time: in the
// operands, or in scratch.
class ImageCopies {
 public:
  ImageCopies(const ConvolutionShape& shape, Pass pass)
      : shape_(shape),
        strided_point_(is_strided_point(shape, pass)),
        widens_(shape.is_short && !shape.multiplies_short),
        size_(shape.multiplies_short ? 2 : 4) {}

  // What the primitive computes.
  ConvolutionShape seen() const { return strided_point_ ? over_seen_cells(shape_) : shape_; }
  // The most images that are worked on together, of `most`; sums want more of them. Of bf16 that is
  // widened, as most convolutions do then, a number that divides the batch: a rest would want code
  // of its own.
  std::int64_t images_together(std::int64_t most, bool sums) const {
    if (before() == 0) return most;
    const std::int64_t bound = sums ? kCopyBytesSummed : kCopyBytes;
    std::int64_t images = std::clamp(bound / (size_ * (before() + after())), std::int64_t{1}, most);
    if (!widens_) return images;
    images = std::min(images, shape_.images);
    while (shape_.images % images != 0) --images;
    return images;
  }
  void place(Pieces& pieces, std::int64_t images) {
    before_ = pieces.add(size_ * images * before());
    after_ = pieces.add(size_ * images * after());
  }

  // The part of x from image `first` on as the primitive reads it: x itself, or a copy in scratch.
  void* read_before(const Args& args, const TensorView& x, std::int64_t first,
                    std::int64_t images) const noexcept {
    if (!widens_ && !strided_point_) return image(x, first, shape_.input_image());
    const Grid grid = grid_of(shape_, images);
    const std::int64_t at = first * shape_.input_image();
    if (shape_.multiplies_short)
      subsample(as_floats(grid), floats(image(x, first, shape_.input_image())), copy_before(args));
    else if (!widens_)
      subsample(grid, x.as<float>() + at, copy_before(args));
    else if (strided_point_)
      subsample(grid, x.as<Bf16>() + at, copy_before(args));
    else
      widen(x.as<Bf16>() + at, images * shape_.input_image(), copy_before(args));
    return copy_before(args);
  }
  void* read_after(const Args& args, const TensorView& y, std::int64_t first,
                   std::int64_t images) const noexcept {
    if (!widens_) return image(y, first, shape_.output_image());
    const std::int64_t size = shape_.output_image();
    widen(y.as<Bf16>() + first * size, images * size, copy_after(args));
    return copy_after(args);
  }

  // Where the primitive is to write that part, and what makes it y's or x's own.
  void* place_after(const Args& args, const TensorView& y, std::int64_t first) const noexcept {
    return widens_ ? copy_after(args) : image(y, first, shape_.output_image());
  }
  void keep_after(const Args& args, const TensorView& y, std::int64_t first,
                  std::int64_t images) const noexcept {
    const std::int64_t size = shape_.output_image();
    if (widens_) shorten(copy_after(args), images * size, y.as<Bf16>() + first * size);
  }
  void* place_before(const Args& args, const TensorView& x, std::int64_t first) const noexcept {
    if (widens_ || strided_point_) return copy_before(args);
    return image(x, first, shape_.input_image());
  }
  void keep_before(const Args& args, const TensorView& x, std::int64_t first,
                   std::int64_t images) const noexcept {
    const Grid grid = grid_of(shape_, images);
    const std::int64_t at = first * shape_.input_image();
    const float* copy = copy_before(args);
    if (strided_point_ && shape_.multiplies_short)
      scatter(as_floats(grid), copy, floats(image(x, first, shape_.input_image())));
    else if (strided_point_ && widens_)
      scatter(grid, copy, x.as<Bf16>() + at);
    else if (widens_)
      shorten(copy, images * shape_.input_image(), x.as<Bf16>() + at);
    else if (strided_point_)
      scatter(grid, copy, x.as<float>() + at);
  }

 private:
  // Elements of an image that is copied; 0: none is.
  std::int64_t before() const { return strided_point_ || widens_ ? seen().input_image() : 0; }
  std::int64_t after() const { return widens_ ? seen().output_image() : 0; }

  // A cell of bf16 is moved as one of half as many floats: nobody looks at the numbers.
  static Grid as_floats(Grid grid) {
    grid.lanes /= 2;
    return grid;
  }
  static float* floats(void* cells) { return static_cast<float*>(cells); }

  void* image(const TensorView& view, std::int64_t first, std::int64_t elements) const {
    return view.data + first * elements * (shape_.is_short ? 2 : 4);
  }
  float* copy_before(const Args& args) const {
    return reinterpret_cast<float*>(args.scratch + before_);
  }
  float* copy_after(const Args& args) const {
    return reinterpret_cast<float*>(args.scratch + after_);
  }

  ConvolutionShape shape_;
  bool strided_point_;
  bool widens_;                          // the primitive is given f32 of what is bf16
  std::int64_t size_;                    // bytes of an element that the primitive reads
  std::int64_t before_ = 0, after_ = 0;  // where the copies lie in scratch
};

}  // namespace plimsoll::kernels::onednn
