#include "interop/onnx_writer.h"

#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "interop/onnx_weights.h"

namespace plimsoll::interop {
namespace {

using Attributes = std::vector<std::pair<std::string, OnnxAttribute>>;

// Keras counts the elements of an image with channels fastest, ONNX with columns fastest.
const Ints kToKeras{0, 2, 3, 1};
const Ints kFromKeras{0, 3, 1, 2};

class OnnxTranslator {
 public:
  OnnxTranslator(const Graph& graph, const nn::Heads& heads,
                 const std::vector<NamedTensor>& weights, const OnnxOptions& options)
      : graph_(graph), weights_(graph, weights, model_.tensors) {
    model_.name = options.name;
    model_.producer = "plimsoll";
    model_.metadata = options.metadata;
    const std::vector<Output> outputs = outputs_of(heads);
    taken_ = {"image", "probabilities"};
    for (const Output& output : outputs) taken_.insert(output.name);
    for (const Value& value : graph.values())
      if (is_resident(value.role)) taken_.insert(value.name);
    const ValueId image = graph.find("image");
    names_[image.index] = "image";
    const Shape& in = graph.spec(image).shape;
    model_.inputs.push_back({"image", "N", {in[1], in[2], in[3]}});
    find_needed(outputs);
    if (options.fold_batch_norm) find_folded();
    for (std::size_t n = 0; n < graph.nodes().size(); ++n)
      if (needed_[n]) translate(graph.nodes()[n]);
    for (const Output& output : outputs) {
      emit("Identity", output.name, {name_of(output.value)}, {}, output.name);
      const Shape& made = graph.spec(output.value).shape;
      model_.outputs.push_back({output.name, "N", {made.begin() + 1, made.end()}});
    }
    if (options.ending.empty() || !heads.logits) return;
    const bool softmax = options.ending == "softmax";
    emit(softmax ? "Softmax" : "Sigmoid", "probabilities", {"logits"},
         softmax ? Attributes{{"axis", std::int64_t{1}}} : Attributes{}, "probabilities");
    model_.outputs.push_back({"probabilities", "N", {graph.spec(heads.logits).shape[1]}});
  }

  const OnnxModel& model() const { return model_; }

 private:
  using Rule = void (OnnxTranslator::*)(const Node&);

  struct Output {
    std::string name;
    ValueId value;
  };
  static std::vector<Output> outputs_of(const nn::Heads& heads) {
    if (heads.logits) return {{"logits", heads.logits}};
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < heads.levels.size(); ++i) {
      outputs.push_back({"scores_" + std::to_string(i), heads.levels[i].scores});
      outputs.push_back({"deltas_" + std::to_string(i), heads.levels[i].deltas});
    }
    return outputs;
  }

  void find_needed(const std::vector<Output>& outputs) {
    needed_.resize(graph_.nodes().size(), false);
    std::set<std::int32_t> wanted;
    for (const Output& output : outputs) wanted.insert(output.value.index);
    for (std::size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      for (const ValueId out : node.out) needed_[n] = needed_[n] || wanted.contains(out.index);
      if (!needed_[n]) continue;
      for (const ValueId in : node.in) {
        wanted.insert(in.index);
        ++uses_[in.index];
      }
    }
  }

  // Convolutions whose only reader is a BatchNorm.
  void find_folded() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (!needed_[n] || node.op->name != "bn_apply" || uses_[node.in[0].index] != 1) continue;
      const NodeId producer = graph_.value(node.in[0]).producer;
      if (!producer) continue;
      const Node& before = graph_.node(producer);
      if (before.op->name == "conv2d" || before.op->name == "depthwise_conv2d")
        folded_[before.out[0].index] = &node;
    }
  }

  const std::string& name_of(ValueId id) const { return names_.at(id.index); }

  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int k = 1; !taken_.insert(name).second; ++k) name = wanted + "~" + std::to_string(k);
    return name;
  }

  // Appends a node with one output and gives the output's name.
  std::string emit(const std::string& op, const std::string& name, std::vector<std::string> inputs,
                   Attributes attributes = {}, const std::string& output = "") {
    const std::string out = output.empty() ? unique(name) : output;
    model_.nodes.push_back({.op = op,
                            .name = out,
                            .inputs = std::move(inputs),
                            .outputs = {out},
                            .attributes = std::move(attributes)});
    return out;
  }

  void give(const Node& node, std::string name) { names_[node.out[0].index] = std::move(name); }
  std::string in(const Node& node, std::size_t i = 0) const { return name_of(node.in[i]); }
  const Shape& shape(ValueId id) const { return graph_.spec(id).shape; }

  void translate(const Node& node) {
    static const std::map<std::string, Rule, std::less<>> kRules = {
        {"activation", &OnnxTranslator::activation},
        {"add", &OnnxTranslator::add},
        {"add_bias", &OnnxTranslator::add_bias},
        {"avg_pool", &OnnxTranslator::pool},
        {"bn_apply", &OnnxTranslator::batch_norm},
        {"concat", &OnnxTranslator::concat},
        {"conv2d", &OnnxTranslator::convolution},
        {"crop", &OnnxTranslator::crop},
        {"dense", &OnnxTranslator::dense},
        {"depthwise_conv2d", &OnnxTranslator::convolution},
        {"global_pool", &OnnxTranslator::global_pool},
        {"max_pool", &OnnxTranslator::pool},
        {"multiply", &OnnxTranslator::multiply},
        {"reorder", &OnnxTranslator::reorder},
        {"reshape", &OnnxTranslator::reshape},
        {"softmax", &OnnxTranslator::softmax},
        {"upsample", &OnnxTranslator::upsample},
        {"zero_pad", &OnnxTranslator::zero_pad}};
    const auto rule = kRules.find(node.op->name);
    if (rule == kRules.end())
      throw UsageError({.where = node.op->name + " '" + node.name + "'",
                        .got = "ONNX files are written without this operation",
                        .expected = "expected a network of the layers that Keras has"});
    (this->*rule->second)(node);
  }

  void convolution(const Node& node) {
    const bool depthwise = node.op->name == "depthwise_conv2d";
    const Shape& kernel = shape(node.in[1]);
    std::vector<std::string> inputs{in(node)};
    const auto folded = folded_.find(node.out[0].index);
    if (folded == folded_.end()) {
      inputs.push_back(weights_.weight(node.in[1]));
      if (node.in.size() > 2) inputs.push_back(weights_.weight(node.in[2]));
    } else {
      ChannelMap map = weights_.channel_map(*folded->second);
      if (node.in.size() > 2) {
        const std::vector<float> bias = weights_.values_of(node.in[2]);
        for (std::size_t c = 0; c < bias.size(); ++c) map.term[c] += bias[c] * map.factor[c];
      }
      inputs.push_back(
          weights_.scaled_weight(node.in[1], unique(node.name + "/folded_kernel"), map.factor));
      inputs.push_back(weights_.floats(unique(node.name + "/folded_bias"), map.term));
    }
    give(node, emit("Conv", node.name, inputs,
                    {{"kernel_shape", Ints{kernel[2], kernel[3]}},
                     {"strides", node.attrs.ints("strides")},
                     {"pads", node.attrs.ints("pads")},
                     {"dilations", node.attrs.ints("dilations")},
                     {"group", depthwise ? kernel[0] : node.attrs.integer("groups")}}));
  }

  void add_bias(const Node& node) {
    const std::int64_t channels = shape(node.in[1])[0];
    const bool image = shape(node.in[0]).rank() == 4;
    const std::string bias =
        weights_.weight(node.in[1], image ? Ints{channels, 1, 1} : Ints{channels});
    give(node, emit("Add", node.name, {in(node), bias}));
  }

  void dense(const Node& node) {
    std::vector<std::string> inputs{in(node)};
    for (std::size_t i = 1; i < node.in.size(); ++i) inputs.push_back(weights_.weight(node.in[i]));
    give(node, emit(inputs.size() > 2 ? "Gemm" : "MatMul", node.name, inputs));
  }

  void batch_norm(const Node& node) {
    if (folded_.contains(node.in[0].index)) return give(node, in(node));
    const auto channels = static_cast<std::size_t>(shape(node.in[1])[0]);
    std::size_t next = 3;
    const auto operand = [&](const char* flag, float otherwise) {
      if (node.attrs.flag(flag)) return weights_.weight(node.in[next++]);
      return weights_.floats(unique(node.name + "/" + flag),
                             std::vector<float>(channels, otherwise));
    };
    const std::string scale = operand("scale", 1);
    const std::string center = operand("center", 0);
    give(node,
         emit("BatchNormalization", node.name,
              {in(node), scale, center, weights_.weight(node.in[1]), weights_.weight(node.in[2])},
              {{"epsilon", static_cast<float>(node.attrs.real("epsilon"))}}));
  }

  void activation(const Node& node) {
    const std::string& kind = node.attrs.word("kind");
    const std::string x = in(node);
    if (kind == "relu6") {
      const std::string least = scalar(node.name + "/least", 0);
      const std::string most = scalar(node.name + "/most", 6);
      return give(node, emit("Clip", node.name, {x, least, most}));
    }
    if (kind == "swish") {
      const std::string gate = emit("Sigmoid", node.name + "/gate", {x});
      return give(node, emit("Mul", node.name, {x, gate}));
    }
    if (kind == "leaky_relu")
      return give(node, emit("LeakyRelu", node.name, {x},
                             {{"alpha", static_cast<float>(node.attrs.real("alpha"))}}));
    give(node, emit(kind == "relu"      ? "Relu"
                    : kind == "sigmoid" ? "Sigmoid"
                                        : "Tanh",
                    node.name, {x}));
  }

  // A tensor without dimensions.
  std::string scalar(const std::string& name, float value) {
    const std::string chosen = weights_.floats(unique(name), {value});
    model_.tensors.back().shape.clear();
    return chosen;
  }

  void softmax(const Node& node) {
    give(node, emit("Softmax", node.name, {in(node)}, {{"axis", std::int64_t{-1}}}));
  }

  void pool(const Node& node) {
    const bool mean = node.op->name == "avg_pool";
    Attributes attributes{{"kernel_shape", node.attrs.ints("kernel")},
                          {"strides", node.attrs.ints("strides")},
                          {"pads", node.attrs.ints("pads")}};
    if (mean) attributes.push_back({"count_include_pad", std::int64_t{0}});
    give(node, emit(mean ? "AveragePool" : "MaxPool", node.name, {in(node)}, attributes));
  }

  void global_pool(const Node& node) {
    const bool mean = node.attrs.word("kind") == "avg";
    const bool keeps = node.attrs.flag("keepdims");
    const std::string y = emit(mean ? "GlobalAveragePool" : "GlobalMaxPool",
                               keeps ? node.name : node.name + "/pixel", {in(node)});
    give(node, keeps ? y : emit("Flatten", node.name, {y}));
  }

  void add(const Node& node) {
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < node.in.size(); ++i) terms.push_back(in(node, i));
    const double factor = node.attrs.real("last_factor");
    if (factor != 1) {
      const std::string by = scalar(node.name + "/factor", static_cast<float>(factor));
      terms.back() = emit("Mul", node.name + "/scaled", {terms.back(), by});
    }
    give(node, emit(terms.size() == 2 ? "Add" : "Sum", node.name, terms));
  }

  void multiply(const Node& node) { give(node, emit("Mul", node.name, {in(node), in(node, 1)})); }

  void concat(const Node& node) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < node.in.size(); ++i) parts.push_back(in(node, i));
    give(node, emit("Concat", node.name, parts, {{"axis", std::int64_t{1}}}));
  }

  void zero_pad(const Node& node) {
    const Ints& p = node.attrs.ints("pads");
    const std::string pads =
        weights_.integers(unique(node.name + "/pads"), {0, 0, p[0], p[1], 0, 0, p[2], p[3]});
    give(node, emit("Pad", node.name, {in(node), pads}));
  }

  void crop(const Node& node) {
    const Ints& p = node.attrs.ints("pads");
    const Shape& x = shape(node.in[0]);
    const std::string begin = weights_.integers(unique(node.name + "/begin"), {p[0], p[1]});
    const std::string end =
        weights_.integers(unique(node.name + "/end"), {x[2] - p[2], x[3] - p[3]});
    const std::string axes = weights_.integers(unique(node.name + "/axes"), {2, 3});
    give(node, emit("Slice", node.name, {in(node), begin, end, axes}));
  }

  void upsample(const Node& node) {
    const Ints& s = node.attrs.ints("scale");
    const std::string scales = weights_.floats(
        unique(node.name + "/scales"), {1, 1, static_cast<float>(s[0]), static_cast<float>(s[1])});
    give(node, emit("Resize", node.name, {in(node), "", scales},
                    {{"mode", std::string("nearest")},
                     {"coordinate_transformation_mode", std::string("asymmetric")},
                     {"nearest_mode", std::string("floor")}}));
  }

  // Layouts are ours alone.
  void reorder(const Node& node) { give(node, in(node)); }

  static bool is_one_pixel(const Shape& s) { return s.rank() == 4 && s[2] == 1 && s[3] == 1; }

  void reshape(const Node& node) {
    const Shape& from = shape(node.in[0]);
    const Shape& to = shape(node.out[0]);
    std::string x = in(node);
    if (from.rank() == 4 && !is_one_pixel(from))
      x = emit("Transpose", node.name + "/channels_last", {x}, {{"perm", kToKeras}});
    if (to.rank() == 2) return give(node, emit("Flatten", node.name, {x}));
    const bool pixel = is_one_pixel(to);
    const std::string target =
        weights_.integers(unique(node.name + "/shape"),
                          pixel ? Ints{-1, to[1], 1, 1} : Ints{-1, to[2], to[3], to[1]});
    x = emit("Reshape", pixel ? node.name : node.name + "/image", {x, target});
    give(node, pixel ? x : emit("Transpose", node.name, {x}, {{"perm", kFromKeras}}));
  }

  const Graph& graph_;
  OnnxModel model_;
  OnnxWeights weights_;
  std::vector<bool> needed_;                    // by node
  std::map<std::int32_t, int> uses_;            // of values, by nodes that are needed
  std::map<std::int32_t, const Node*> folded_;  // outputs of convolutions to the BatchNorms in them
  std::map<std::int32_t, std::string> names_;   // of values
  std::set<std::string, std::less<>> taken_;
};

}  // namespace

void write_onnx(const std::filesystem::path& path, const Graph& graph, const nn::Heads& heads,
                const std::vector<NamedTensor>& weights, const OnnxOptions& options) {
  if (heads.second.scores)
    throw UsageError({.where = options.name,
                      .got = "a detector of two stages, whose second reads what its first proposes",
                      .expected = "expected a network without draws and suppression inside",
                      .hint = "it is written as .safetensors, with torchvision's names"});
  const OnnxTranslator translator(graph, heads, weights, options);
  write_onnx_file(path, translator.model());
}

}  // namespace plimsoll::interop
