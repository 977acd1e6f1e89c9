// What `predict` prints: text, CSV or JSON, one picture after the other, so that memory does not
// grow with the files.
#pragma once

#include <string>
#include <vector>

#include "data/picture/picture.h"
#include "task/task.h"

namespace plimsoll::cli {

struct PredictionFormat {
  enum class Kind { text, csv, json };
  Kind kind = Kind::text;
  bool boxes = false;       // predictions have boxes
  std::string score = "p";  // what scores are; "p" is told in percent
};

// A JSON list ends when the printer goes.
class PredictionPrinter {
 public:
  explicit PredictionPrinter(PredictionFormat format);
  PredictionPrinter(const PredictionPrinter&) = delete;
  PredictionPrinter& operator=(const PredictionPrinter&) = delete;
  ~PredictionPrinter();

  // `size`: of the upright picture, where there are boxes.
  void print(const std::string& file, const Size& size, const std::vector<Prediction>& guesses);

 private:
  void print_json(const std::string& file, const Size& size,
                  const std::vector<Prediction>& guesses);
  void print_csv(const std::string& file, const std::vector<Prediction>& guesses) const;
  void print_boxes(const std::string& file, const Size& size,
                   const std::vector<Prediction>& guesses) const;

  PredictionFormat format_;
  bool first_ = true;
};

}  // namespace plimsoll::cli
