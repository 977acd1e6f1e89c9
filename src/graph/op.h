// The whole contract of an operation. One file in ops/ fills one OpFamily. Passes, plans and tables
// ask what stands here; only who calls an op knows its name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/id.h"
#include "tensor/kernel.h"

namespace plimsoll {

struct Backward;
class Graph;
using Specs = std::vector<Spec>;

struct AttrSchema {
  std::string name;
  AttrValue fallback;  // also fixes the type
  std::string doc;
};

// Output `out` may lie over input `over` when that input is not needed afterwards and both take the
// same bytes. Updates of weights and state must: there the output is the new content of the input.
struct InPlace {
  int out = 0;
  int over = 0;
  bool required = false;
};

// The price of one execution, for planning and for tables.
struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

// Whether an op's outputs can share bytes with its inputs without a copy.
enum class ViewKind : std::uint8_t {
  none,
  concat,  // every input may be a channel slice of the output
  split,   // every output may be a channel slice of the input
};

// What passes may do for an op that is as simple as this, where a neighbour can take it over.
enum class Form : std::uint8_t {
  other,
  sum,            // of its inputs, the last times `last_factor`
  zero_pad,       // by `pads`
  activation,     // of `kind`
  moments,        // mean and variance of every channel of in[0]
  normalisation,  // of every channel: in[0] by mean and variance; then by `scale` and `center`
};

// What an op can do of its neighbours' work in its own pass.
struct Absorbs {
  bool padding = false;           // of in[0], into `pads`
  bool input_relu = false;        // of in[0], as `input_activation`
  bool output_relu = false;       // as `activation`
  bool residual = false;          // one more term of its output, as its last input and `residual`
  bool gradient_sum = false;      // of two terms before in[0], as in[0], in[1] and `terms`
  std::string_view normalised{};  // the op that also normalises in[0]; empty: none
};

// What PyTorch and Keras hold of an op for backward.
enum class FrameworkHolds : std::uint8_t { nothing, input, output, input_and_positions };

// Whose flops are what a processor's peak is about, and which pass of a layer they are.
enum class Arithmetic : std::uint8_t { none, forward, grad_input, grad_weights };

// An input of a test sample: its spec and what values make sense there.
struct SampleInput {
  // label: integers in [0, limit); unit: (0,1); count: small integers. Of detectors, on a canvas of
  // `limit` pixels: box: rows of two corners; candidate: of a box, a score and one of three groups;
  // side: at least half the canvas. match: -2 (ignored), -1 (negative) or an integer in [0, limit).
  enum class Fill : std::uint8_t {
    normal,
    positive,
    label,
    unit,
    count,
    zero,
    one,
    box,
    candidate,
    side,
    match
  };
  Spec spec;
  Fill fill = Fill::normal;
  std::int64_t limit = 10;
};

struct Sample {
  std::vector<SampleInput> in;
  Attrs attrs = {};
  double tolerance = 2e-5;  // relative to the largest element, f32 kernel against f64 reference
};

struct OpDef {
  std::string name;
  std::string doc;
  std::vector<AttrSchema> attrs = {};

  // The only shape check: specs of the outputs, or UsageError (where = "" is filled in by the
  // graph).
  Specs (*infer)(const Attrs&, std::span<const Spec> in) = nullptr;

  // Adds nodes that compute the gradients of the inputs from those of the outputs. What these nodes
  // read is what is kept for backward. Null: not differentiable.
  Values (*backward)(const Backward&) = nullptr;

  std::vector<InPlace> in_place = {};
  Arithmetic arithmetic = Arithmetic::none;
  bool cheap_to_repeat = false;  // recomputing costs about one pass over memory
  bool exchanged = false;        // its outputs, over inputs, hold when ranks have exchanged them
  bool gathered = false;         // by that alone: of each every rank has updated its shard
  bool meets = false;            // behind it parts that run at once make one of theirs: runs once
  bool joins_filters = false;    // several over one in[0] are one with the filters in[1] of all
  Form form = Form::other;
  Absorbs absorbs = {};
  FrameworkHolds framework_holds = FrameworkHolds::nothing;
  ViewKind view = ViewKind::none;
  Cost (*cost)(const Attrs&, std::span<const Spec> in, std::span<const Spec> out) = nullptr;

  std::vector<Kernel> kernels = {};  // the first that can do a call wins; the last is "ref"
  std::vector<Sample> samples = {};  // inputs for every generic test
};

// What one file in ops/ defines: an op and the ops its backward is made of.
struct OpFamily {
  std::vector<OpDef> defs;
};

// All ops by name. Immutable after construction; outlives every graph that uses it.
class OpTable {
 public:
  explicit OpTable(std::vector<const OpFamily*> families);
  const OpDef* find(std::string_view name) const;
  const std::vector<const OpDef*>& all() const { return defs_; }

 private:
  std::vector<const OpDef*> defs_;  // sorted by name
};

}  // namespace plimsoll
