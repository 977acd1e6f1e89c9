// The text form of a graph: one line per input, resident and node, and one where a phase begins.
//
//   plimsoll graph 1
//   input image : f32[2x3x32x32]
//   parameter conv1/kernel : f32[16x3x3x3]/stem_kernel of conv1
//   conv1 : f32[2x16x32x32]/blocked = conv2d(image, conv1/kernel) strides=[1,1] @ conv1
//   z : f32[2x8x4x4]/blocked in cat at 16 = bn_apply(...) @ bn
//   [backward]
//   dw : f32[16x3x3x3]/stem_kernel gradient = conv2d_grad_kernel(...) ... @ conv1/grad of conv1
//
// "in" says which value it lies inside of, "of" to which layer a resident or node belongs, where
// that is not the node's own name.
#include <cmath>
#include <utility>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/line_reader.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHeader = "plimsoll graph 1";

std::string home_text(const Graph& graph, const Value& value) {
  if (!value.home) return "";
  return " in " + graph.value(value.home->parent).name + " at " +
         std::to_string(value.home->first_channel);
}

constexpr std::int64_t kLargestDim = std::int64_t{1} << 31;
constexpr std::int64_t kLargestTensor = std::int64_t{1} << 44;

Spec parse_spec(LineReader& in) {
  Spec spec;
  const std::string dtype = in.name("an element type");
  bool known = false;
  for (DType candidate :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    if (dtype != name_of(candidate)) continue;
    spec.dtype = candidate;
    known = true;
  }
  if (!known) in.refuse("an element type (f32, f64, f16, bf16, i64, i32, u8) before this");
  in.need("[");
  std::int64_t elements = 1;
  do {
    const std::int64_t dim = in.integer("a dimension");
    if (dim < 1 || dim > kLargestDim || elements > kLargestTensor / dim ||
        spec.shape.rank() == Shape::kMaxRank)
      in.refuse("at most four positive dimensions of a sensible size");
    elements *= dim;
    spec.shape.append(dim);
  } while (in.take("x"));
  in.need("]");
  if (!in.take("/")) return spec;
  const std::string layout = in.name("a layout");
  for (Layout candidate :
       {Layout::blocked, Layout::kernel, Layout::stem_kernel, Layout::depth_kernel}) {
    if (!layout.starts_with(name_of(candidate))) continue;
    const std::string lanes = layout.substr(name_of(candidate).size());
    if (!lanes.empty() && lanes != "16") break;
    if (spec.shape.rank() != 4) in.refuse("four dimensions for this layout");
    spec.layout = candidate;
    if (!lanes.empty()) spec.lanes = kWideLanes;
    return spec;
  }
  in.refuse("a layout (blocked, kernel, stem_kernel, depth_kernel; with 16: wide) before this");
}

struct OutputLine {
  std::string name;
  Spec spec;
  bool gradient = false;
  std::string parent;
  std::int64_t first_channel = 0;
};

OutputLine parse_output(LineReader& in) {
  OutputLine out;
  out.name = in.name("a value's name");
  in.need(":");
  out.spec = parse_spec(in);
  out.gradient = in.take_word("gradient");
  if (in.take_word("in")) {
    out.parent = in.name("a value's name");
    if (!in.take_word("at")) in.refuse("'at'");
    out.first_channel = in.integer("a channel");
  }
  return out;
}

struct PendingHome {
  ValueId child;
  std::string parent;
  std::int64_t first_channel;
  int line;
};

void parse_node(LineReader& in, Graph& graph, int line, std::vector<PendingHome>& homes) {
  std::vector<OutputLine> outputs;
  do {
    outputs.push_back(parse_output(in));
  } while (in.take(","));
  in.need("=");
  const std::string op = in.name("an op");
  in.need("(");
  Values inputs;
  if (!in.take(")")) {
    do {
      const std::string name = in.name("a value's name");
      const ValueId id = graph.find(name);
      if (!id) in.refuse("a value defined above instead of '" + name + "'");
      inputs.push_back(id);
    } while (in.take(","));
    in.need(")");
  }
  Attrs attrs;
  while (!in.take("@")) {
    const std::string key = in.name("an attribute or '@ name'");
    in.need("=");
    attrs.set(key, in.attribute());
  }
  const std::string name = in.name("the node's name");
  const LayerScope scope(graph, in.take_word("of") ? in.name("the layer's name") : name);
  if (!in.at_end()) in.refuse("the end of the line");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    bool taken = bool(graph.find(outputs[i].name));
    for (std::size_t other = 0; other < i; ++other)
      taken = taken || outputs[other].name == outputs[i].name;
    if (taken) in.refuse("a name that is not taken instead of '" + outputs[i].name + "'");
  }

  Values made;
  try {
    made = graph.call(op, inputs, attrs, name);
  } catch (const UsageError& error) {
    in.refuse("a valid call (" + std::string(error.what()) + ")");
  }
  if (made.size() != outputs.size())
    in.refuse(std::to_string(made.size()) + " outputs for this op");
  // First out of each other's way: a name may be the one another output was given at birth.
  for (ValueId id : made) graph.rename(id, "~");
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (graph.spec(made[i]) != outputs[i].spec)
      in.refuse(to_string(graph.spec(made[i])) + " for output '" + outputs[i].name + "'");
    graph.rename(made[i], outputs[i].name);
    if (outputs[i].gradient) graph.value(made[i]).role = Role::gradient;
    if (!outputs[i].parent.empty())
      homes.push_back({made[i], outputs[i].parent, outputs[i].first_channel, line});
  }
}

// Roles of values that no node makes.
constexpr Role kDeclared[] = {Role::input,     Role::parameter, Role::frozen,     Role::statistics,
                              Role::optimizer, Role::average,   Role::accumulated};

void parse_source(LineReader& in, Graph& graph, Role role) {
  const std::string name = in.name("a value's name");
  in.need(":");
  const Spec spec = parse_spec(in);
  const bool has_layer = is_resident(role) && in.take_word("of");
  const LayerScope scope(graph, has_layer ? in.name("the layer's name") : "");
  if (!in.at_end()) in.refuse("the end of the line");
  if (graph.find(name)) in.refuse("a name that is not taken instead of '" + name + "'");
  graph.add_value(name, spec, role);
}

// Behind the bracket of "[backward]".
void parse_phase(LineReader& in, Graph& graph) {
  for (Phase phase : {Phase::loss, Phase::backward, Phase::update}) {
    if (phase <= graph.phase() || !in.take_word(name_of(phase))) continue;
    in.need("]");
    if (!in.at_end()) in.refuse("the end of the line");
    graph.set_phase(phase);
    return;
  }
  in.refuse("a later phase (loss, backward, update)");
}

void put_home(Graph& graph, const PendingHome& home, std::string_view source) {
  const ValueId parent = graph.find(home.parent);
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw UsageError({.where = std::string(source) + ":" + std::to_string(home.line) + ":1",
                      .got = got,
                      .expected = expected});
  };
  if (!parent)
    refuse("home '" + home.parent + "' is not a value", "a value of this graph expected");
  const Spec &inner = graph.spec(home.child), &outer = graph.spec(parent);
  const bool fits = inner.layout == Layout::blocked && outer.layout == Layout::blocked &&
                    inner.dtype == outer.dtype && inner.lanes == outer.lanes &&
                    inner.shape[0] == outer.shape[0] && inner.shape[2] == outer.shape[2] &&
                    inner.shape[3] == outer.shape[3] && home.first_channel >= 0 &&
                    home.first_channel % outer.lanes == 0 &&
                    home.first_channel <= outer.shape[1] - inner.shape[1] && parent != home.child;
  if (!fits)
    refuse(to_string(inner) + " at channel " + std::to_string(home.first_channel) + " of " +
               to_string(outer),
           "a slice that lies inside its home expected");
  for (ValueId outer_id = parent; graph.value(outer_id).home;) {
    outer_id = graph.value(outer_id).home->parent;
    if (outer_id == home.child)
      refuse("homes that lie in each other", "a home outside of what it holds expected");
  }
  graph.value(home.child).home = Home{parent, home.first_channel};
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text(kHeader);
  text += '\n';
  for (const Value& value : graph.values()) {
    if (value.producer) continue;
    text += std::string(name_of(value.role)) + " " + value.name + " : " + to_string(value.spec);
    text += (value.layer.empty() ? "" : " of " + value.layer) + "\n";
  }
  Phase phase = Phase::forward;
  for (const Node& node : graph.nodes()) {
    if (node.phase != phase) text += "[" + std::string(name_of(node.phase)) + "]\n";
    phase = node.phase;
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      const Value& value = graph.value(node.out[i]);
      if (i > 0) text += ", ";
      text += value.name + " : " + to_string(value.spec);
      if (value.role == Role::gradient) text += " gradient";
      text += home_text(graph, value);
    }
    text += " = " + node.op->name + "(";
    for (std::size_t i = 0; i < node.in.size(); ++i)
      text += (i > 0 ? ", " : "") + graph.value(node.in[i]).name;
    text += ")";
    for (const auto& [name, value] : node.attrs.entries())
      text += " " + name + "=" + to_string(value);
    text += " @ " + node.name + (node.layer == node.name ? "" : " of " + node.layer) + "\n";
  }
  return text;
}

Graph parse_graph(std::string_view text, const OpTable& ops, std::string_view source) {
  Graph graph(ops);
  std::vector<PendingHome> homes;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    LineReader in(source, ++number, line);
    if (number == 1) {
      if (!in.take(kHeader) || !in.at_end()) in.refuse("'" + std::string(kHeader) + "'");
      continue;
    }
    if (in.at_end()) continue;
    if (in.take("[")) {
      parse_phase(in, graph);
      continue;
    }
    bool declared = false;
    for (Role role : kDeclared) {
      if (declared || !in.take_word(name_of(role))) continue;
      parse_source(in, graph, role);
      declared = true;
    }
    if (!declared) parse_node(in, graph, number, homes);
  }
  if (number == 0) LineReader(source, 1, "").refuse("'" + std::string(kHeader) + "'");
  for (const PendingHome& home : homes) put_home(graph, home, source);
  graph.set_phase(Phase::forward);
  return graph;
}

}  // namespace plimsoll
