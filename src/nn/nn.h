// Layers a user writes networks with: typed functions that add nodes to a graph. Names, defaults
// and meaning are Keras's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "nn/layer.h"

namespace plimsoll::nn {

enum class Mode : std::uint8_t {
  training,   // BatchNorm uses the batch's statistics, dropout drops
  inference,  // BatchNorm uses the running ones, dropout is the identity
};

// One number for both directions, or [height, width].
struct Size2 {
  std::int64_t h = 1;
  std::int64_t w = 1;
  Size2(std::int64_t both) : h(both), w(both) {}  // NOLINT: an implicit conversion is the point
  Size2(std::int64_t height, std::int64_t width) : h(height), w(width) {}
};

enum class Padding : std::uint8_t {
  same,       // as many outputs as inputs, over the stride
  valid,      // none
  symmetric,  // half a window on every side: PyTorch's networks
  ceil,       // none, but the last window may reach over the bottom and right: their pools
};
std::string_view name_of(Padding padding);

// How weights start, where their fans are the layer's to know.
struct Start {
  Init::Kind kind = Init::Kind::zeros;
  double scale = 1;
};

struct ConvOptions {
  Size2 stride = 1;
  Padding padding = Padding::same;
  Size2 dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string activation = {};  // as in Builder::activation; empty: none
  std::string name = {};
  Start kernel_start = {.kind = Init::Kind::glorot_uniform};
  Start bias_start = {};
};

struct DenseOptions {
  bool bias = true;
  std::string activation = {};  // as in Builder::activation; empty: none
  std::string name = {};
  Start kernel_start = {.kind = Init::Kind::glorot_uniform};
  Start bias_start = {};
};

struct BatchNormOptions {
  double momentum = 0;  // of the running statistics; 0: the builder's, Keras's 0.99 unless set
  double epsilon = 1e-3;
  bool scale = true;
  bool center = true;
  bool frozen = false;  // uses running statistics even in training
  std::string name = {};
};

struct PoolOptions {
  Size2 stride = 2;
  Padding padding = Padding::valid;
  std::string name = {};
};

// Running statistics of one BatchNorm and the batch's, to be joined at the end of a step.
struct RunningStatistics {
  ValueId moving_mean, moving_variance, mean, variance;
  double momentum = 0.99;
};

struct Input {
  std::int64_t batch = 1;
  std::int64_t channels = 3;
  Size2 image = 224;
  DType dtype = DType::f32;
  std::int64_t lanes = kNarrowLanes;  // of the blocks of images between layers, and of weights
};

// What a detector says of one level of its pyramid, with A anchors a cell and K classes.
struct Level {
  ValueId features;  // what its heads read, and nothing else of the heads does
  ValueId scores;    // [N, A*K, H, W] before the sigmoid; class k of anchor a is channel a*K + k
  ValueId deltas;    // [N, A*4, H, W]; delta j of anchor a is channel a*4 + j
};

// Which boxes a network of two stages looks at again.
struct RegionOptions {
  struct Proposals {
    std::int64_t of_a_level = 0;  // the surest anchors of each
    std::int64_t kept = 0;        // of all levels, of those that tell of different things
  };
  Proposals training = {2000, 2000};
  Proposals inference = {1000, 1000};
  std::int64_t drawn = 512;  // boxes of an image that are trained on
};

// Boxes of N images, R of each, that the second stage of a network reads its levels under. What
// they are to become is known to those who made them with a truth, else it is kNoValue.
struct Regions {
  ValueId boxes;                 // [N*R, 4], corners in pixels of the canvas
  ValueId labels = kNoValue;     // i32 [N*R]; 0: nothing, else class + 1
  ValueId targets = kNoValue;    // [N*R, 4], the deltas to be said
  ValueId weights = kNoValue;    // [N*R]
  ValueId proposals = kNoValue;  // [N, R, 4] and i32 [N]: the boxes as they were found, and how
  ValueId counts = kNoValue;     // many there are; of inference
};

// Builds the forward graph of one network. Values it returns are tensors of that graph. Layers
// without a name get Keras's (conv2d, conv2d_1, ...). A name may stand for several calls of one
// layer if share() said so. Throws UsageError naming the layer that cannot be.
class Builder {
 public:
  // Layers that `is_frozen` names are not trained, and their BatchNorms use running statistics.
  using IsFrozen = std::function<bool(std::string_view layer)>;
  Builder(const OpTable& ops, const Input& input, Mode mode, IsFrozen is_frozen = {});

  ValueId image() const { return image_; }

  // The layer of this name may be called again, by the same function with the same options: its
  // parameters are those of the first call. A BatchNorm that is called again must be frozen to be
  // trained with: running statistics of several tensors are of none.
  void share(std::string_view layer) { shared_.emplace(layer); }

  ValueId conv2d(ValueId x, std::int64_t filters, Size2 kernel, const ConvOptions& options = {});
  ValueId depthwise_conv2d(ValueId x, Size2 kernel, const ConvOptions& options = {});
  // Depthwise then 1x1, nothing between; one layer with two kernels.
  ValueId separable_conv2d(ValueId x, std::int64_t filters, Size2 kernel,
                           const ConvOptions& options = {});
  ValueId dense(ValueId x, std::int64_t units, std::string_view name = "",
                std::string_view activation = "", bool bias = true);
  ValueId dense(ValueId x, std::int64_t units, const DenseOptions& options);
  ValueId batch_norm(ValueId x, const BatchNormOptions& options = {});
  // Of BatchNorms that name none. Small networks are trained for a few hundred steps, when 0.99
  // still remembers its beginning.
  void set_batch_norm_momentum(double momentum) { batch_norm_momentum_ = momentum; }

  ValueId relu(ValueId x, std::string_view name = "") { return activation(x, "relu", name); }
  // kind: relu, relu6, leaky_relu (alpha), sigmoid, swish, tanh.
  ValueId activation(ValueId x, std::string_view kind, std::string_view name = "",
                     double alpha = 0.3);
  ValueId softmax(ValueId x, std::string_view name = "");
  // of: what falls as one, element, channel or image.
  ValueId dropout(ValueId x, double rate, std::string_view name = "",
                  std::string_view of = "element");

  ValueId max_pool(ValueId x, Size2 window, const PoolOptions& options = {});
  ValueId average_pool(ValueId x, Size2 window, const PoolOptions& options = {});
  ValueId global_average_pool(ValueId x, std::string_view name = "", bool keep_dims = false);
  ValueId global_max_pool(ValueId x, std::string_view name = "", bool keep_dims = false);

  ValueId add(const Values& terms, std::string_view name = "");
  ValueId multiply(ValueId x, ValueId factor, std::string_view name = "");
  // x + branch * factor; Keras's CustomScaleLayer.
  ValueId scaled_add(ValueId x, ValueId branch, double factor, std::string_view name = "");
  ValueId concat(const Values& parts, std::string_view name = "");
  ValueId zero_pad(ValueId x, std::int64_t top, std::int64_t left, std::int64_t bottom,
                   std::int64_t right, std::string_view name = "");
  ValueId crop(ValueId x, std::int64_t top, std::int64_t left, std::int64_t bottom,
               std::int64_t right, std::string_view name = "");
  ValueId upsample(ValueId x, Size2 factor, std::string_view name = "");
  // [N, C, H, W] to [N, H*W*C], in Keras's order (channels fastest).
  ValueId flatten(ValueId x, std::string_view name = "");
  // [N, C, 1, 1] to [N, C].
  ValueId squeeze(ValueId x, std::string_view name = "");
  // To a matrix, [K], or an image, [H, W, C]: Keras's shape of a sample, its elements in Keras's
  // order.
  ValueId reshape(ValueId x, const Ints& sample, std::string_view name = "");

  // Where a first stage that said `levels` thinks that something is. What makes regions is not the
  // network's to know: who builds it may say, else they are an input of the graph, "rois".
  using MakeRegions = std::function<Regions(Graph& graph, const std::vector<Level>& levels,
                                            const RegionOptions& options)>;
  void make_regions_by(MakeRegions make) { make_regions_ = std::move(make); }
  Regions regions(const std::vector<Level>& levels, const RegionOptions& options,
                  std::string_view name = "");
  // size x size bins of every box [N*R, 4], each of the level that fits its size; the cells of the
  // first level are 2^first_level pixels apart. torchvision's MultiScaleRoIAlign.
  ValueId roi_align(ValueId boxes, const Values& levels, std::int64_t size,
                    std::int64_t first_level, std::string_view name = "");

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const Spec& spec(ValueId id) const { return graph_.spec(id); }
  Mode mode() const { return mode_; }
  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<RunningStatistics>& running_statistics() const { return running_; }
  // The call that made `id`, in layers().
  Source source_of(ValueId id) const;

 private:
  bool is_frozen(std::string_view layer) const { return is_frozen_ && is_frozen_(layer); }
  // Opens a new layer, or another call of a shared one; what is added until end_layer() belongs to
  // it. Returns the name of its node.
  std::string begin_layer(std::string_view type, std::string_view base, std::string_view name,
                          const Values& inputs, const Attrs& config);
  Layer& layer() { return layers_[current_]; }
  ValueId end_layer(ValueId output);
  // `role`: parameter, which a frozen layer's are not, frozen or statistics.
  ValueId parameter(std::string_view weight, const Spec& spec, const Init& init,
                    Role role = Role::parameter);
  ValueId blocked_image(ValueId x);
  ValueId pool(ValueId x, std::string_view op, std::string_view type, std::string_view base,
               Size2 window, const PoolOptions& options);
  ValueId global_pool(ValueId x, std::string_view kind, std::string_view type,
                      std::string_view base, std::string_view name, bool keep_dims);
  ValueId depthwise(ValueId x, std::string_view weight, Size2 kernel, const ConvOptions& options,
                    const std::string& node);
  ValueId activated(ValueId x, std::string_view kind, const std::string& node);

  Graph graph_;
  Mode mode_;
  std::int64_t lanes_;
  IsFrozen is_frozen_;
  MakeRegions make_regions_;
  double batch_norm_momentum_ = 0.99;
  ValueId image_;
  ValueId sample_;  // the first sample's position in the run, and its seed; keys randomness
  std::vector<Layer> layers_;
  std::size_t current_ = 0;  // the layer that was opened last
  std::string node_;         // and the name of its call's node
  std::vector<RunningStatistics> running_;
  std::unordered_map<std::int32_t, Source> source_of_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::set<std::string, std::less<>> shared_;
  std::map<std::string, int, std::less<>> name_counts_;
};

// What a detector of two stages says of its regions, R of each of N images, with K classes. Its
// levels have one score an anchor: whether anything is there.
struct SecondStage {
  Regions regions = {};
  Values features = {};       // the levels that it reads, and nothing else of the network
  ValueId scores = kNoValue;  // [N*R, K+1] before the softmax; column 0 is nothing
  ValueId deltas = kNoValue;  // [N*R, 4*(K+1)]; delta j of class k is column (k+1)*4 + j
};

// What a network ends in: class scores before softmax, or what a detector finds.
struct Heads {
  ValueId logits = kNoValue;
  ValueId auxiliary = kNoValue;    // of a second classifier, in training only
  std::vector<Level> levels = {};  // of a detector, finest first; it has no logits
  SecondStage second = {};         // of a detector that looks twice
};
// All of them: logits, those of the second classifier, scores and deltas of each level, and those
// of the second stage.
Values outputs_of(const Heads& heads);

// The layers that lead to a network's ends, in Keras's order.
std::vector<Layer> layers_of(const Builder& builder, const Heads& heads);

// [top, left, bottom, right]; with `same`, the odd cell goes to the bottom and right, as in Keras.
Ints padding_cells(Padding padding, const Spec& x, Size2 kernel, Size2 stride, Size2 dilation);

}  // namespace plimsoll::nn
