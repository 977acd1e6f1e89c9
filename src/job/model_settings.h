// Which network, and of what size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/isa.h"
#include "nn/nn.h"
#include "step/step_graph.h"
#include "task/detection_anchors.h"
#include "zoo/zoo.h"

namespace plimsoll::job {

// The network that words name, read once. Copies share it.
class NamedNetwork {
 public:
  // `model`: of the zoo, or a file that describes one; `description`: where it is not empty, that
  // is the network. Valid until the next call. UsageError, DataError.
  const zoo::Network& find(const std::string& model, const std::string& description) const;
  // Its description; empty for networks of the zoo.
  const std::string& description(const std::string& model, const std::string& given) const;

 private:
  struct Read;
  const Read& read(const std::string& model, const std::string& description) const;
  mutable std::shared_ptr<const Read> read_;
};

// An image of the shape that the data has, about as large as the network's own.
inline constexpr std::string_view kDataShape = "auto";

struct ModelSettings {
  std::string model = "inception_v3";  // of the zoo, or a file: Keras's JSON, .keras, .h5
  std::string description;             // Keras's JSON, for a network that is known by that alone
  std::int64_t batch = 32;
  bool batch_max = false;     // the largest that fits the budget; `batch` is then found
  std::string image;          // "299", "200x300"; empty: the network's own; kDataShape: the data's
  std::int64_t channels = 0;  // 0: the network's own
  std::int64_t classes = 0;   // 0: the network's own
  double dropout = -1;        // below 0: the network's own
  bool auxiliary = false;     // add the second head, where the network has one
  std::string precision = "f32";  // of images between layers, and their gradients: or bf16
  std::string isa;                // see use_isa(), by which the process has it

  // A number or "max".
  void set_batch(const std::string& text);
  // Checked values. UsageError names the option.
  const zoo::Network& network() const { return named.find(model, description); }
  // Keras's JSON of a network that is not of the zoo; else empty.
  const std::string& network_text() const { return named.description(model, description); }
  // For people and folders: a file's name without its ending.
  std::string title() const;
  nn::Input input() const;
  bool is_short() const { return precision == "bf16"; }
  // Whether that is faster too: this process has products of bf16.
  bool multiplies_short() const { return is_short() && process_isa() == Isa::avx512_bf16; }
  std::int64_t class_count() const;
  NetworkFactory factory() const;
  // In Keras's order, as training would name them.
  std::vector<nn::Layer> layers() const;
  // Patterns of the layers before those that tell what is in a picture; "!NAME" excepts.
  std::vector<std::string> body() const;
  bool detects() const { return network().anchor_base > 0; }
  // Of a network that detects: the cells of each level.
  std::vector<Cells> levels() const;

  NamedNetwork named = {};
};

// "299" or "200x300"; UsageError on anything else.
nn::Size2 parse_image_size(const std::string& text);

}  // namespace plimsoll::job
