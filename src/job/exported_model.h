// Trained weights as a file for other programs.
#pragma once

#include <filesystem>
#include <string>

#include "job/trained_model.h"

namespace plimsoll::job {

struct ExportOptions {
  std::filesystem::path to;  // the ending says the format: .keras, .h5, .weights.h5, .safetensors
                             // (PyTorch's names), .onnx
  bool fold_batch_norm = false;  // ONNX: BatchNorms become part of the convolutions before them
};

// Writes the file, which appears complete or not at all, and returns what it is, for people.
// UsageError for an ending that we do not write; DataError.
std::string export_model(TrainedModel& trained, const ExportOptions& options);

}  // namespace plimsoll::job
