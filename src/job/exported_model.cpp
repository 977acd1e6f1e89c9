#include "job/exported_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "interop/keras_network.h"
#include "interop/keras_writer.h"
#include "interop/onnx_writer.h"
#include "interop/torch_writer.h"
#include "ops/table.h"

namespace plimsoll::job {
namespace {

enum class ExportForm { keras_archive, keras_hdf5, keras_weights, torch_safetensors, onnx };

ExportForm form_of(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".weights.h5")) return ExportForm::keras_weights;
  if (name.ends_with(".keras")) return ExportForm::keras_archive;
  if (name.ends_with(".h5") || name.ends_with(".hdf5")) return ExportForm::keras_hdf5;
  if (name.ends_with(".safetensors")) return ExportForm::torch_safetensors;
  if (name.ends_with(".onnx")) return ExportForm::onnx;
  throw UsageError({.where = "--to " + path.string(),
                    .got = "an ending that is not known",
                    .expected = "expected .keras, .h5, .weights.h5, .safetensors or .onnx"});
}

// What makes shares of class scores.
std::string ending_of(const TrainedModel& trained) {
  if (trained.targets == TargetKind::numbers) return "";
  return trained.targets == TargetKind::labels ? "sigmoid" : "softmax";
}

// For whoever opens the file: how pictures become its input, and what its classes are called.
Metadata about(const TrainedModel& trained) {
  Metadata metadata{{"model", trained.model.network().name},
                    {"preprocessing", trained.normalise},
                    {"format", "pt"}};
  if (!trained.class_names.empty())
    metadata["classes"] = nlohmann::json(trained.class_names)
                              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return metadata;
}

}  // namespace

std::string export_model(TrainedModel& trained, const ExportOptions& options) {
  const ExportForm form = form_of(options.to);
  trained.model.batch = 1;
  const Trainer trainer = open_alone(trained);
  const std::vector<NamedTensor> weights = weight_tensors(trainer.session(), trainer.step_graph());
  nn::Builder builder(op_table(), trained.model.input(), nn::Mode::inference);
  const nn::Heads heads = trained.model.factory()(builder);
  const std::vector<nn::Layer> layers = nn::layers_of(builder, heads);
  const std::string name = trained.model.network().name;
  const auto write_keras = [&](interop::KerasForm kind) {
    interop::write_keras(options.to, kind,
                         interop::keras_description(name, layers, ending_of(trained)), layers,
                         weights);
  };
  switch (form) {
    case ExportForm::keras_archive:
      write_keras(interop::KerasForm::archive);
      return "a Keras 3 model: keras.models.load_model";
    case ExportForm::keras_hdf5:
      write_keras(interop::KerasForm::hdf5_model);
      return "a Keras model in HDF5: keras.models.load_model";
    case ExportForm::keras_weights:
      write_keras(interop::KerasForm::weights);
      return "Keras 3 weights: model.load_weights";
    case ExportForm::torch_safetensors:
      interop::write_torch_safetensors(options.to, layers, weights, about(trained));
      return "weights in PyTorch's layout: safetensors.torch.load_file";
    case ExportForm::onnx: {
      interop::OnnxOptions onnx{
          .name = name, .ending = ending_of(trained), .fold_batch_norm = options.fold_batch_norm};
      for (const auto& [key, value] : about(trained)) onnx.metadata.emplace_back(key, value);
      interop::write_onnx(options.to, builder.graph(), heads, weights, onnx);
      return heads.logits
                 ? "an ONNX model, opset 17: image [N, C, H, W] to logits and probabilities"
                 : "an ONNX model, opset 17: image [N, C, H, W] to class scores before their "
                   "sigmoid and box deltas of every level, finest first";
    }
  }
  bug("a form that is not written");
}

}  // namespace plimsoll::job
