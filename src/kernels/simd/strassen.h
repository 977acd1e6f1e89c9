// Strassen's algorithm for one tap, in the words of a TileAlgorithm: a convolution of one tap is a
// product of matrices, cells x channels times channels x filters. Two neighbouring cells, two
// blocks of channels and two of filters are multiplied by 7 products of blocks instead of 8.
#pragma once

#include "kernels/simd/tile_algorithm.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

struct Strassen {
  static constexpr int kBlocks = 2;
  static constexpr int kHigh = 1, kWide = 2;
  static constexpr int kTapsHigh = 1, kTapsWide = 1;
  static constexpr int kReadsHigh = 1, kReadsWide = 2;
  static constexpr int kPoints = 7;
  static constexpr double kTransforms = 0.05;
  static constexpr bool kPaired = false;

  // With a cell i, a block of channels k and one of filters j: columns of kInput are [k][i], of
  // kWeight [k][j], of kOutputTurned [j][i].
  static constexpr Matrix<7, 4> kInput{{{1, 0, 0, 1},
                                        {0, 1, 0, 1},
                                        {1, 0, 0, 0},
                                        {0, 0, 0, 1},
                                        {1, 0, 1, 0},
                                        {-1, 1, 0, 0},
                                        {0, 0, 1, -1}}};
  static constexpr Matrix<7, 4> kWeight{{{1, 0, 0, 1},
                                         {1, 0, 0, 0},
                                         {0, 1, 0, -1},
                                         {-1, 0, 1, 0},
                                         {0, 0, 0, 1},
                                         {1, 1, 0, 0},
                                         {0, 0, 1, 1}}};
  static constexpr Matrix<7, 4> kOutputTurned{{{1, 0, 0, 1},
                                               {0, 1, 0, -1},
                                               {0, 0, 1, 1},
                                               {1, 1, 0, 0},
                                               {-1, 0, 1, 0},
                                               {0, 0, 0, 1},
                                               {1, 0, 0, 0}}};
  static constexpr Matrix<4, 7> kOutput = transposed<7, 4>(kOutputTurned);
  static constexpr Matrix<4, 7> kWeightTurned = transposed<7, 4>(kWeight);

  static void transform_input(const Vec* cells, Vec* to) { multiply_rows<kInput>(cells, 1, to, 1); }
  static void transform_weights(const Vec* taps, Vec* to) {
    multiply_rows<kWeight>(taps, 1, to, 1);
  }
  static void transform_output(const Vec* products, Vec* to) {
    multiply_rows<kOutput>(products, 1, to, 1);
  }
  static void transform_gradient(const Vec* cells, Vec* to) {
    multiply_rows<kOutputTurned>(cells, 1, to, 1);
  }
  static void gather_weights(const Vec* products, Vec* to) {
    multiply_rows<kWeightTurned>(products, 1, to, 1);
  }
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
