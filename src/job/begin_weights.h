// Weights to begin with, from a file of any kind that we read.
#pragma once

#include <string>
#include <vector>

#include "interop/imported_file.h"
#include "step/trainer.h"

namespace plimsoll::job {

// Puts what the file has into an open trainer; averages begin there too. Layers are matched as the
// file's kind asks for (Keras's by order), or by their names; then those that do not match stay as
// they are. Otherwise only the head may differ (another number of classes): it stays as it is.
// What an optimizer of the same kind remembered comes along, where it did of every weight that is
// trained. DataError that lists every weight that does not match.
struct Beginning {
  bool by_name = false;
  bool whole = false;     // the head must match too
  std::string optimizer;  // of the run; empty: weights alone
};
struct Begun {
  std::vector<std::string> news;     // what happened, for people
  std::int64_t optimizer_steps = 0;  // that the optimizer had done
};
Begun begin_with(const interop::ImportedFile& file, const Beginning& how, const Trainer& trainer);
Begun begin_with(const std::string& path, const Beginning& how, const Trainer& trainer);

// How pictures are normalised for the weights in that file; empty: it does not say. DataError.
std::string wanted_preprocessing(const std::string& path);

}  // namespace plimsoll::job
