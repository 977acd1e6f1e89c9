#include <algorithm>
#include <numeric>

#include "passes/rewrite.h"

namespace plimsoll {
namespace {

// Numbers of sections from 1, per node; 0: of none.
using SectionOf = std::vector<std::size_t>;

// Marks the nodes between a section's begins and its end that no section before it has.
class SectionWalk {
 public:
  explicit SectionWalk(const Graph& graph) : graph_(graph), section_of_(graph.nodes().size(), 0) {}

  void mark(const Section& section, std::size_t number) {
    const std::vector<bool> depends = find_dependent(section.begins);
    Values open{section.end};
    while (!open.empty()) {
      const NodeId maker = graph_.value(open.back()).producer;
      open.pop_back();
      if (!maker || !depends[maker.at()] || section_of_[maker.at()] != 0) continue;
      section_of_[maker.at()] = number;
      for (const ValueId in : graph_.node(maker).in) open.push_back(in);
    }
  }

  SectionOf take() { return std::move(section_of_); }

 private:
  // Nodes that read one of the values, or what such a node makes.
  std::vector<bool> find_dependent(const Values& begins) const {
    std::vector<bool> reached(graph_.values().size(), false);
    for (const ValueId begin : begins) reached[begin.at()] = true;
    std::vector<bool> depends(graph_.nodes().size(), false);
    for (std::size_t n = 0; n < depends.size(); ++n) {
      const Node& node = graph_.nodes()[n];
      depends[n] = std::ranges::any_of(node.in, [&](ValueId in) { return bool(reached[in.at()]); });
      if (depends[n])
        for (const ValueId out : node.out) reached[out.at()] = true;
    }
    return depends;
  }

  const Graph& graph_;
  SectionOf section_of_;
};

// What follows from a section belongs to it, or to the last one that it follows from; what comes
// in a later phase stays behind all of them.
void extend(const Graph& graph, SectionOf& section_of) {
  for (std::size_t n = 0; n < section_of.size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.phase > Phase::loss) {
      section_of[n] = graph.nodes().size();
      continue;
    }
    for (const ValueId in : node.in)
      if (const NodeId maker = graph.value(in).producer)
        section_of[n] = std::max(section_of[n], section_of[maker.at()]);
  }
}

}  // namespace

Graph run_by_section(const Graph& graph, const std::vector<Section>& sections, const Keep& keep) {
  SectionWalk walk(graph);
  for (std::size_t s = 0; s < sections.size(); ++s) walk.mark(sections[s], s + 1);
  SectionOf section_of = walk.take();
  extend(graph, section_of);
  std::vector<std::size_t> order(graph.nodes().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return section_of[n]; });
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const std::size_t n : order) {
    Node node = graph.nodes()[n];
    if (section_of[n] > 0) node.phase = std::max(node.phase, Phase::loss);
    rewriter.emit(node);
  }
  return rewriter.finish(keep);
}

}  // namespace plimsoll
