// One call of an op, by the interpreter.
#pragma once

#include <string>
#include <vector>

#include "ops/table.h"
#include "tests/support/interpreter.h"

namespace plimsoll {

struct Given {
  Spec spec;
  std::vector<double> values;
};

// All outputs of one call in f64 (or as given), elements in logical order.
inline std::vector<std::vector<double>> outputs(const char* op, const std::vector<Given>& given,
                                                const Attrs& attrs = {}) {
  Graph graph(op_table());
  Values in;
  for (const Given& one : given)
    in.push_back(graph.add_value("x" + std::to_string(in.size()), one.spec, Role::input));
  const Values out = graph.call(op, in, attrs, "y");
  Interpreter run(graph);
  for (std::size_t i = 0; i < in.size(); ++i) run.put(in[i], given[i].values);
  run.run();
  std::vector<std::vector<double>> results;
  for (ValueId id : out) results.push_back(run.elements(id));
  return results;
}

inline Spec real(std::initializer_list<std::int64_t> dims) { return plain(dims, DType::f64); }

}  // namespace plimsoll
