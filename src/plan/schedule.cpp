#include "plan/schedule.h"

#include "base/error.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

class Scheduler {
 public:
  explicit Scheduler(const PlanRequest& request)
      : request_(request),
        graph_(request.graph),
        members_(written_members(request.graph)),
        current_(request.graph.values().size(), -1) {
    schedule_.input_instance.assign(graph_.values().size(), -1);
  }

  Schedule run() {
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      if (graph_.values()[v].role != Role::input) continue;
      const ValueId id{static_cast<std::int32_t>(v)};
      schedule_.input_instance[v] = current_[v] = begin_instance(id, -1);
    }
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (n == request_.backward_begin) forget_dropped();
      const NodeId id{static_cast<std::int32_t>(n)};
      if (is_idle(graph_, graph_.node(id))) continue;
      for (ValueId in : graph_.node(id).in) make_available(in);
      execute(id, false);
    }
    const int end = static_cast<int>(schedule_.steps.size());
    for (ValueId result : request_.results) {
      const int instance = is_fixed(result) ? -1 : current_[root_of(graph_, result).at()];
      expect(is_fixed(result) || instance >= 0, "a result is there at the end of the step");
      if (instance >= 0) instance_at(instance).last = end;
      schedule_.result_instance.push_back(instance);
    }
    return std::move(schedule_);
  }

 private:
  bool is_fixed(ValueId id) const { return request_.resident_offset[id.at()] >= 0; }
  Instance& instance_at(int index) { return schedule_.instances[static_cast<std::size_t>(index)]; }

  int begin_instance(ValueId root, int step) {
    schedule_.instances.push_back({.root = root, .first = step, .last = step});
    return static_cast<int>(schedule_.instances.size()) - 1;
  }

  void forget_dropped() {
    for (std::size_t v = 0; v < current_.size(); ++v)
      if (request_.drop[v]) current_[v] = -1;
  }

  void make_available(ValueId value) {
    if (is_fixed(value)) return;
    const ValueId root = root_of(graph_, value);
    if (current_[root.at()] >= 0) return;
    expect(request_.drop[root.at()], "a value is there when it is read");
    for (ValueId member : members_[root.at()]) {
      const NodeId producer = graph_.value(member).producer;
      for (ValueId in : graph_.node(producer).in)
        if (root_of(graph_, in) != root) make_available(in);
      execute(producer, true);
    }
  }

  // An output that another instance still holds gets a place of its own, which nobody reads.
  int output_instance(ValueId out, bool again, int step) {
    const ValueId root = root_of(graph_, out);
    int& current = current_[root.at()];
    const bool is_first_write = members_[root.at()].front() == out;
    if (current >= 0 && again && is_first_write) return begin_instance(root, step);
    if (current < 0) current = begin_instance(root, step);
    return current;
  }

  void execute(NodeId id, bool again) {
    const Node& node = graph_.node(id);
    const int step = static_cast<int>(schedule_.steps.size());
    ScheduledNode scheduled{.node = id, .again = again, .in = {}, .out = {}};
    for (ValueId in : node.in) {
      const int instance = is_fixed(in) ? -1 : current_[root_of(graph_, in).at()];
      if (instance >= 0) instance_at(instance).last = step;
      scheduled.in.push_back(instance);
    }
    for (ValueId out : node.out) {
      const int instance = is_fixed(out) ? -1 : output_instance(out, again, step);
      if (instance >= 0) instance_at(instance).last = std::max(instance_at(instance).last, step);
      scheduled.out.push_back(instance);
    }
    schedule_.steps.push_back(std::move(scheduled));
  }

  const PlanRequest& request_;
  const Graph& graph_;
  std::vector<Values> members_;
  std::vector<int> current_;  // per root: the instance that holds its content now
  Schedule schedule_;
};

}  // namespace

Schedule make_schedule(const PlanRequest& request) { return Scheduler(request).run(); }

}  // namespace plimsoll
