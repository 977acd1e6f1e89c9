// What a network is made of, as its author and Keras see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/id.h"
#include "tensor/spec.h"

namespace plimsoll::nn {

// How a parameter starts. Every element is a function of (seed, parameter name, index).
struct Init {
  enum class Kind : std::uint8_t { zeros, ones, glorot_uniform, he_normal };
  Kind kind = Kind::zeros;
  std::int64_t fan_in = 1;
  std::int64_t fan_out = 1;
};

struct Parameter {
  std::string name;  // "conv2d_1/kernel": Keras's layer and weight names
  Spec spec;         // logical shape: kernels [O, I, H, W], dense [in, out], vectors [C]
  Init init;
  bool trainable = true;
};

// One layer as `summary` lists it.
struct Layer {
  std::string name;
  std::string type;  // Keras's class name
  ValueId output;
  Spec output_spec;
  std::vector<std::size_t> inputs;  // indices of layers
  std::vector<Parameter> parameters;

  std::int64_t parameter_count() const;
};

// Indices of `layers` in the order of Keras's model.layers: by depth counted from `outputs`, then
// in the order in which a walk from the outputs meets them.
std::vector<std::size_t> keras_order(const std::vector<Layer>& layers,
                                     const std::vector<std::size_t>& outputs);

}  // namespace plimsoll::nn
