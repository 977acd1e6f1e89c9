// The weights and state of a run by the names a user knows, wherever they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
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
  // Of one that ranks share out. Its view is then on the room that steps work in, one of all such
  // tensors: Shards brings it there whole, and hands out what is put there.
  struct Shared {
    std::string resident;    // this rank's shard, if it has any
    std::int64_t first = 0;  // of its elements, as stored, in the weight that it is part of
    std::int64_t whole = 0;  // elements of that weight
  };
  std::optional<Shared> shared = std::nullopt;
};
class Shards;

// Parameters and running statistics in Keras's order.
std::vector<NamedTensor> weight_tensors(const Session& session, const StepGraph& step);
// The optimizer's tensors, "optimizer/<weight>/<slot>", weights in Keras's order.
std::vector<NamedTensor> slot_tensors(const Session& session, const StepGraph& step);

// Their moving averages, "average/<weight>"; empty if there are none.
std::vector<NamedTensor> average_tensors(const Session& session, const StepGraph& step);

// Gives every weight its starting value, a function of (seed, its name, index), and zeroes the
// slots.
void initialise(const Session& session, const StepGraph& step, std::uint64_t seed);

// Visits the bytes of all that lasts and is the same on every rank of a run, in one order: weights,
// statistics and, unless ranks share them out, the optimizer's tensors and averages.
void over_lasting(const Session& session, const StepGraph& step,
                  const std::function<void(std::span<std::byte> bytes)>& visit);
// CRC-32C of them.
std::uint32_t checksum_of(const Session& session, const StepGraph& step);

// Bytes that save_tensors() holds at most: a piece of a tensor, the header, and their copies.
inline constexpr std::int64_t kCheckpointBuffer = std::int64_t{1} << 20;

// Writes tensors as f32 in logical order, a few at a time, and appears complete or not at all. With
// such as ranks share out, inside of Shards::lead(); so does load_tensors().
void save_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                  const Metadata& metadata, const Shards& shards);

// Reads every tensor from the file, checked against its checksums. DataError if one is missing or
// has another shape, before anything was read; or if the file is damaged, when part of them was.
void load_tensors(const SafetensorsReader& file, const std::vector<NamedTensor>& tensors,
                  const Shards& shards);

}  // namespace plimsoll
