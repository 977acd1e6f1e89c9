#include "cli/prediction_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace plimsoll::cli {
namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

PredictionPrinter::PredictionPrinter(PredictionFormat format) : format_(std::move(format)) {
  if (format_.kind == PredictionFormat::Kind::json) fmt::print("[");
  if (format_.kind == PredictionFormat::Kind::csv)
    fmt::print("file,rank,class,{}{}\n", format_.score, format_.boxes ? ",x0,y0,x1,y1" : "");
}

PredictionPrinter::~PredictionPrinter() {
  if (format_.kind == PredictionFormat::Kind::json) fmt::print("\n]\n");
}

void PredictionPrinter::print(const std::string& file, const Size& size,
                              const std::vector<Prediction>& guesses) {
  if (format_.kind == PredictionFormat::Kind::json) return print_json(file, size, guesses);
  if (format_.kind == PredictionFormat::Kind::csv) return print_csv(file, guesses);
  if (format_.boxes) return print_boxes(file, size, guesses);
  std::string text;
  for (const Prediction& guess : guesses)
    text += fmt::format("  {} {}", guess.name,
                        format_.score == "p" ? fmt::format("{:.1f} %", 100 * guess.score)
                                             : fmt::format("{:.3f}", guess.score));
  fmt::print("{}:{}\n", file, text);
}

void PredictionPrinter::print_json(const std::string& file, const Size& size,
                                   const std::vector<Prediction>& guesses) {
  nlohmann::ordered_json json{{"file", file}};
  if (format_.boxes) {
    json["width"] = size.width;
    json["height"] = size.height;
  }
  nlohmann::ordered_json& list = json[format_.boxes ? "boxes" : "classes"];
  list = nlohmann::ordered_json::array();
  for (const Prediction& guess : guesses) {
    nlohmann::ordered_json& one = list.emplace_back(nlohmann::ordered_json{{"name", guess.name}});
    one[format_.score] = guess.score;
    if (!guess.box) continue;
    one["x0"] = guess.box->x0;
    one["y0"] = guess.box->y0;
    one["x1"] = guess.box->x1;
    one["y1"] = guess.box->y1;
  }
  fmt::print("{}\n  {}", std::exchange(first_, false) ? "" : ",",
             json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void PredictionPrinter::print_csv(const std::string& file,
                                  const std::vector<Prediction>& guesses) const {
  for (std::size_t rank = 0; rank < guesses.size(); ++rank) {
    const Prediction& guess = guesses[rank];
    std::string box;
    if (guess.box)
      box = fmt::format(",{:.2f},{:.2f},{:.2f},{:.2f}", guess.box->x0, guess.box->y0, guess.box->x1,
                        guess.box->y1);
    fmt::print("{},{},{},{:.6g}{}\n", csv_cell(file), rank + 1, csv_cell(guess.name), guess.score,
               box);
  }
}

void PredictionPrinter::print_boxes(const std::string& file, const Size& size,
                                    const std::vector<Prediction>& guesses) const {
  fmt::print("{}: {}x{}, {}\n", file, size.width, size.height,
             guesses.size() == 1 ? "1 box" : fmt::format("{} boxes", guesses.size()));
  std::size_t width = 0;
  for (const Prediction& guess : guesses) width = std::max(width, guess.name.size());
  const auto digits = fmt::format("{}", std::max(size.width, size.height)).size() + 2;
  for (const Prediction& guess : guesses)
    fmt::print("  {:<{}} {:.3f} [{:>{}.1f} {:>{}.1f} {:>{}.1f} {:>{}.1f}]\n", guess.name, width,
               guess.score, guess.box->x0, digits, guess.box->y0, digits, guess.box->x1, digits,
               guess.box->y1, digits);
}

}  // namespace plimsoll::cli
