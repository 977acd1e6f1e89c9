// The weights and state of a run by the names a user knows, wherever they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/session.h"
#include "format/safetensors.h"
#include "step/step_graph.h"

namespace plimsoll {

// One tensor under its own name; `view` may be part of a larger resident. Valid as long as the
// session.
struct NamedTensor {
  std::string name;
  TensorView view;
};

// Parameters and running statistics in Keras's order.
std::vector<NamedTensor> weight_tensors(const Session& session, const StepGraph& step);
// The optimizer's tensors, "optimizer/<weight>/<slot>", weights in Keras's order.
std::vector<NamedTensor> slot_tensors(const Session& session, const StepGraph& step);

// Their moving averages, "average/<weight>"; empty if there are none.
std::vector<NamedTensor> average_tensors(const Session& session, const StepGraph& step);

// Averages begin as the weights they follow.
void start_averages(const Session& session, const StepGraph& step);
// Puts the averages in the weights' place and the weights in theirs.
void exchange_averages(const Session& session, const StepGraph& step);
// The averages, where there are any, are in the weights' place as long as this lives.
class AveragesInPlace {
 public:
  AveragesInPlace(const Session& session, const StepGraph& step) : session_(session), step_(step) {
    exchange_averages(session_, step_);
  }
  ~AveragesInPlace() { exchange_averages(session_, step_); }
  AveragesInPlace(const AveragesInPlace&) = delete;
  AveragesInPlace& operator=(const AveragesInPlace&) = delete;

 private:
  const Session& session_;
  const StepGraph& step_;
};

// Gives every weight its starting value, a function of (seed, its name, index), and zeroes the
// slots.
void initialise(const Session& session, const StepGraph& step, std::uint64_t seed);

// Visits the bytes of all that lasts: weights, statistics, optimizer's tensors and averages, in one
// order on every rank of a run.
void over_lasting(const Session& session,
                  const std::function<void(std::span<std::byte> bytes)>& visit);
// CRC-32C of them: the same on every rank.
std::uint32_t checksum_of(const Session& session);

// Bytes that save_tensors() holds at most: a piece of a tensor, the header, and their copies.
inline constexpr std::int64_t kCheckpointBuffer = std::int64_t{1} << 20;

// Writes tensors as f32 in logical order, a few at a time, and appears complete or not at all.
void save_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                  const Metadata& metadata);

// Reads every tensor from the file, checked against its checksums. DataError if one is missing or
// has another shape, before anything was read; or if the file is damaged, when part of them was.
void load_tensors(const SafetensorsReader& file, const std::vector<NamedTensor>& tensors);

}  // namespace plimsoll
