// What a network is made of, as its author and Keras see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/id.h"
#include "tensor/attrs.h"
#include "tensor/spec.h"

namespace plimsoll::nn {

// How a parameter starts. Every element is a function of (seed, parameter name, index).
struct Init {
  enum class Kind : std::uint8_t {
    zeros,
    ones,
    glorot_uniform,
    he_normal,          // deviation sqrt(2 / fan_in)
    he_normal_fan_out,  // sqrt(2 / fan_out): PyTorch's ResNets
    lecun_uniform,      // within sqrt(3 / fan_in)
    torch_uniform,      // within 1 / sqrt(fan_in): PyTorch's linear layers
    normal,             // deviation `scale`
    constant,           // `scale`
  };
  Kind kind = Kind::zeros;
  std::int64_t fan_in = 1;
  std::int64_t fan_out = 1;
  double scale = 1;
};

struct Parameter {
  std::string name;  // "conv2d_1/kernel": Keras's layer and weight names
  Spec spec;         // logical shape: kernels [O, I, H, W], dense [in, out], vectors [C]
  Init init;
  bool trainable = true;
};

// The output of one call of a layer, in a list of layers.
struct Source {
  std::size_t layer = 0;
  std::size_t call = 0;
};

// One use of a layer.
struct LayerCall {
  std::vector<Source> inputs;
  ValueId output;
  Spec output_spec;
};

// One layer as `summary` lists it.
struct Layer {
  std::string name;
  std::string type;  // Keras's class name
  Attrs config;      // what its author chose, in the words of Keras 3's JSON; flags are 0 or 1
  std::vector<LayerCall> calls;  // at least one; the parameters are the same in all
  std::vector<Parameter> parameters;

  const Spec& output_spec() const { return calls.front().output_spec; }
  std::int64_t parameter_count() const;
};

// The layers that lead to `outputs` in the order of Keras's model.layers: by depth counted from the
// outputs, then in the order in which a walk from them meets them. Calls that lead nowhere are left
// out; sources are those of the list that is returned.
std::vector<Layer> in_keras_order(const std::vector<Layer>& layers,
                                  const std::vector<Source>& outputs);

// The last layer with weights before `output`: where a network's classes are told apart.
// Null if there is none.
const Layer* find_head(const std::vector<Layer>& layers, Source output);

}  // namespace plimsoll::nn
