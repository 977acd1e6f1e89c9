#include "step/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/random.h"
#include "step/averages.h"
#include "tensor/convert.h"

namespace plimsoll {
namespace {

const MergedParameter* find_merged(const StepGraph& step, const std::string& name) {
  for (const MergedParameter& merged : step.merged)
    if (merged.part == name) return &merged;
  return nullptr;
}

// Filters [first, ...) of a tensor in kernel layout: whole blocks, so one piece of memory.
TensorView part_of(const TensorView& whole, const MergedParameter& merged) {
  TensorView part = whole;
  part.spec = merged.spec;
  part.image_stride = merged.spec.image_elements();
  part.data += whole.spec.offset(merged.first_filter) * size_of(whole.spec.dtype);
  return part;
}

// The resident, or the part of one, that belongs to a weight; `decorate` makes its name from the
// weight's.
template <class Decorate>
TensorView view_of(const Session& session, const StepGraph& step, const std::string& weight,
                   Decorate decorate) {
  const MergedParameter* merged = find_merged(step, weight);
  if (merged == nullptr) return session.resident(decorate(weight));
  return part_of(session.resident(decorate(merged->whole)), *merged);
}

// What follows a weight, of which ranks may share out the whole.
template <class Decorate>
NamedTensor follower_of(const Session& session, const StepGraph& step, const std::string& weight,
                        Decorate decorate) {
  if (step.shards == 1) return {decorate(weight), view_of(session, step, weight, decorate)};
  const MergedParameter* merged = find_merged(step, weight);
  const std::string& whole = merged == nullptr ? weight : merged->whole;
  const Spec& of_whole = session.resident_spec(whole);
  const Spec& spec = merged == nullptr ? of_whole : merged->spec;
  const std::span<std::byte> room = session.room();
  expect(std::cmp_less_equal(spec.bytes(), room.size()), "room for the gradient of every weight");
  return {.name = decorate(weight),
          .view = {.data = room.data(), .spec = spec, .image_stride = spec.image_elements()},
          .shared = NamedTensor::Shared{
              .resident = decorate(whole),
              .first = merged == nullptr ? 0 : of_whole.offset(merged->first_filter),
              .whole = of_whole.stored_elements()}};
}

double normal(std::uint64_t key, std::uint64_t i) {
  const double u = 1 - (signed_unit(key, 2 * i) + 1) / 2;  // (0, 1]
  const double angle = signed_unit(key, 2 * i + 1) * 3.14159265358979323846;
  return std::sqrt(-2 * std::log(u)) * std::cos(angle);
}

double initial_value(const nn::Init& init, std::uint64_t key, std::uint64_t i) {
  switch (init.kind) {
    case nn::Init::Kind::zeros: return 0;
    case nn::Init::Kind::ones: return 1;
    case nn::Init::Kind::glorot_uniform:
      return signed_unit(key, i) * std::sqrt(6.0 / static_cast<double>(init.fan_in + init.fan_out));
    case nn::Init::Kind::he_normal:
      return normal(key, i) * std::sqrt(2.0 / static_cast<double>(init.fan_in));
    case nn::Init::Kind::he_normal_fan_out:
      return normal(key, i) * std::sqrt(2.0 / static_cast<double>(init.fan_out));
    case nn::Init::Kind::lecun_uniform:
      return signed_unit(key, i) * std::sqrt(3.0 / static_cast<double>(init.fan_in));
    case nn::Init::Kind::torch_uniform:
      return signed_unit(key, i) / std::sqrt(static_cast<double>(init.fan_in));
    case nn::Init::Kind::normal: return normal(key, i) * init.scale;
    case nn::Init::Kind::constant: return init.scale;
  }
  bug("initial value of an unknown kind");
}

constexpr std::size_t kPiece = 16384;

}  // namespace

std::vector<NamedTensor> weight_tensors(const Session& session, const StepGraph& step) {
  std::vector<NamedTensor> tensors;
  for (const nn::Parameter& parameter : step.parameters)
    tensors.push_back({parameter.name, view_of(session, step, parameter.name,
                                               [](const std::string& n) { return n; })});
  return tensors;
}

std::vector<NamedTensor> slot_tensors(const Session& session, const StepGraph& step) {
  std::vector<NamedTensor> tensors;
  for (const nn::Parameter& parameter : step.parameters) {
    if (!parameter.trainable) continue;
    for (const std::string& slot : step.slot_kinds) {
      const auto decorate = [&](const std::string& weight) { return slot_name(weight, slot); };
      tensors.push_back(follower_of(session, step, parameter.name, decorate));
    }
  }
  return tensors;
}

std::vector<NamedTensor> average_tensors(const Session& session, const StepGraph& step) {
  std::vector<NamedTensor> tensors;
  for (const nn::Parameter& parameter : step.parameters) {
    if (!step.has_averages || !parameter.trainable) continue;
    tensors.push_back(follower_of(session, step, parameter.name, average_name));
  }
  return tensors;
}

void initialise(const Session& session, const StepGraph& step, std::uint64_t seed) {
  const std::vector<NamedTensor> tensors = weight_tensors(session, step);
  std::array<float, kPiece> piece{};
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::uint64_t key = fnv1a64(tensors[t].name) ^ splitmix64(seed * 0x9E3779B97F4A7C15ULL);
    const std::int64_t count = tensors[t].view.spec.shape.elements();
    for (std::int64_t first = 0; first < count; first += static_cast<std::int64_t>(kPiece)) {
      const std::size_t length = std::min(kPiece, static_cast<std::size_t>(count - first));
      for (std::size_t i = 0; i < length; ++i)
        piece[i] = static_cast<float>(
            initial_value(step.parameters[t].init, key, static_cast<std::uint64_t>(first) + i));
      write_elements(tensors[t].view, first, {piece.data(), length});
    }
  }
  for (const std::string& slot : step.slots) {
    const TensorView view = session.resident(slot);
    std::memset(view.data, 0, static_cast<std::size_t>(view.spec.bytes()));
  }
  start_averages(session, step);
}

void over_lasting(const Session& session, const StepGraph& step,
                  const std::function<void(std::span<std::byte> bytes)>& visit) {
  for (const std::string& name : session.resident_names()) {
    const Role role = session.resident_role(name);
    const bool follows = role == Role::optimizer || role == Role::average;
    if (role == Role::accumulated || (follows && step.shards > 1)) continue;
    const TensorView view = session.resident(name);
    visit({view.data, static_cast<std::size_t>(view.spec.bytes())});
  }
}

std::uint32_t checksum_of(const Session& session, const StepGraph& step) {
  std::uint32_t sum = 0;
  over_lasting(session, step, [&](std::span<std::byte> bytes) { sum = crc32c(bytes, sum); });
  return sum;
}

void save_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                  const Metadata& metadata, const Shards& shards) {
  std::vector<StoredTensor> stored;
  for (const NamedTensor& tensor : tensors) {
    const Shape& shape = tensor.view.spec.shape;
    stored.push_back(
        {.name = tensor.name, .type = ElementType::f32, .shape = {shape.begin(), shape.end()}});
  }
  SafetensorsWriter writer(path, std::move(stored), metadata);
  std::array<float, kPiece> piece{};
  for (const NamedTensor& tensor : tensors) {
    shards.fetch(tensor);
    const std::int64_t count = tensor.view.spec.shape.elements();
    for (std::int64_t first = 0; first < count; first += static_cast<std::int64_t>(kPiece)) {
      const std::span<float> part(piece.data(),
                                  std::min(kPiece, static_cast<std::size_t>(count - first)));
      read_elements(tensor.view, first, part);
      writer.append(tensor.name, std::as_bytes(part));
    }
  }
  writer.commit();
}

void load_tensors(const SafetensorsReader& file, const std::vector<NamedTensor>& tensors,
                  const Shards& shards) {
  for (const NamedTensor& tensor : tensors) {
    const StoredTensor* stored = file.find(tensor.name);
    const Shape& shape = tensor.view.spec.shape;
    const StoredTensor expected{
        .name = tensor.name, .type = ElementType::f32, .shape = {shape.begin(), shape.end()}};
    if (stored == nullptr || *stored != expected)
      throw DataError({.where = file.path().string() + ": tensor '" + tensor.name + "'",
                       .got = stored == nullptr ? "there is none" : to_string(*stored),
                       .expected = "expected " + to_string(expected),
                       .hint = "is it the same network with as many classes?"});
  }
  std::array<float, kPiece> piece{};
  for (const NamedTensor& tensor : tensors) {
    shards.clear(tensor);
    std::int64_t first = 0;
    file.read(tensor.name, std::as_writable_bytes(std::span(piece)),
              [&](std::span<const std::byte> bytes) {
                const std::span<const float> part(piece.data(), bytes.size() / sizeof(float));
                write_elements(tensor.view, first, part);
                first += static_cast<std::int64_t>(part.size());
              });
    shards.store(tensor);
  }
}

}  // namespace plimsoll
