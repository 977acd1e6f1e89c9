// What PreparedTapes holds; for the files of exec/ only.
#pragma once

#include <deque>
#include <unordered_map>

#include "exec/tapes.h"

namespace plimsoll {

struct PreparedTapes::Prepared {
  TapeRequest request;
  std::vector<PreparedNode> nodes = {};
  std::vector<NodeWork> work = {};
  std::vector<std::int64_t> resident_offset = {};
  std::shared_ptr<const Tape> still = {};  // its plan, if it does not train: there is only one
};

struct PreparedTapes::Shared {
  std::deque<Prepared> tapes;
  std::vector<std::string> resident_names;
  std::unordered_map<std::string, Resident> residents;
  std::int64_t resident_bytes = 0;
  std::vector<std::vector<std::size_t>> together;
  bool opened = false;
};

}  // namespace plimsoll
