#include "exec/call_text.h"

namespace plimsoll {
namespace {

std::string spec_text(const Spec& spec, ImageCount images) {
  std::string text = to_string(spec);
  const bool has_images = spec.layout == Layout::blocked || spec.layout == Layout::plain;
  if (images == ImageCount::any && has_images && spec.shape.rank() == 4) {
    const std::size_t begin = text.find('[') + 1;
    text.replace(begin, text.find('x', begin) - begin, "*");
  }
  return text;
}

}  // namespace

std::string call_text(const Graph& graph, const Node& node, ImageCount images) {
  std::string text = node.op->name;
  for (const auto& [name, value] : node.attrs.entries())
    text += " " + name + "=" + to_string(value);
  for (ValueId id : node.in) text += " " + spec_text(graph.spec(id), images);
  text += " ->";
  for (ValueId id : node.out) text += " " + spec_text(graph.spec(id), images);
  return text;
}

}  // namespace plimsoll
