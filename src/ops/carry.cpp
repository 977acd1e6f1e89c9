// Gradients of a batch's parts, summed in a fixed tree: what is not yet whole waits in slots, which
// are residents. Which of them a part is added to tells the input `code`, so one tape serves all
// parts of a size; see dist/tree.h.
#include <algorithm>
#include <array>

#include "ops/update.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

// Ranks that hold no aligned share of a thousand parts need eighteen.
constexpr std::size_t kMostSlots = 24;

// [g, code, slots...]
void check(std::span<const Spec> in) {
  check_count(in, 2, 2 + kMostSlots);
  check_real(in[0], "what is summed");
  check_vector(in[1], 2, "the code");
  if (in[1].dtype != DType::i32) refuse("the code is " + to_string(in[1]), "i32 is needed");
  for (const Spec& slot : in.subspan(2)) check_same(slot, in[0], "a slot");
}

Specs infer_carry(const Attrs&, std::span<const Spec> in) {
  check(in);
  return {in[0]};
}

Specs infer_stow(const Attrs&, std::span<const Spec> in) {
  check(in);
  check_count(in, 3, 2 + kMostSlots);
  return {in.begin() + 2, in.end()};
}

// The slots that are added to the part: [first, held).
struct Code {
  std::size_t first = 0;
  std::size_t held = 0;
};

Code code_of(const Args& args) {
  const auto slots = static_cast<std::int32_t>(args.in.size() - 2);
  const std::int32_t held = std::clamp(args.in[1].at<std::int32_t>(0), 0, slots);
  const std::int32_t merged = std::clamp(args.in[1].at<std::int32_t>(1), 0, held);
  return {static_cast<std::size_t>(held - merged), static_cast<std::size_t>(held)};
}

// Elements that are summed at a time: they stay in the cache from slot to slot.
constexpr std::int64_t kPiece = 4096;

template <class T>
void add_piece(const Args& args, const Code& code, T* sum, std::int64_t begin) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the next line but one fills it.
  std::array<T, kPiece> total;
  const std::int64_t length = std::min(kPiece, args.in[0].spec.stored_elements() - begin);
  std::copy_n(args.in[0].as<T>() + begin, length, total.data());
  for (std::size_t s = code.held; s-- > code.first;) {
    const T* slot = args.in[2 + s].as<T>() + begin;
    for (std::int64_t i = 0; i < length; ++i) total[static_cast<std::size_t>(i)] += slot[i];
  }
  std::copy_n(total.data(), length, sum + begin);
}

// sum = slots[first] + (... + (slots[held - 1] + g))
template <class T>
void add_slots(const Args& args, const Code& code, T* sum) {
  const std::int64_t count = args.in[0].spec.stored_elements();
  if (count <= kPiece) return add_piece(args, code, sum, 0);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < count; begin += kPiece) add_piece(args, code, sum, begin);
}

void carry_loop(const Attrs&, const Args& args) noexcept {
  const Code code = code_of(args);
  if (code.first == code.held && args.out[0].data == args.in[0].data) return;
  for_real(args.in[0].spec.dtype,
           [&]<class T>(T) { add_slots<T>(args, code, args.out[0].as<T>()); });
}

void stow_loop(const Attrs&, const Args& args) noexcept {
  const Code code = code_of(args);
  if (code.first == args.out.size()) return;
  for_real(args.in[0].spec.dtype,
           [&]<class T>(T) { add_slots<T>(args, code, args.out[code.first].as<T>()); });
}

std::vector<InPlace> slots_in_place() {
  std::vector<InPlace> rules;
  for (int s = 0; s < static_cast<int>(kMostSlots); ++s)
    rules.push_back({.out = s, .over = 2 + s, .required = true});
  return rules;
}

std::vector<Sample> samples(std::size_t least_slots) {
  const SampleInput code{plain({2}, DType::i32), SampleInput::Fill::count};
  std::vector<Sample> samples;
  for (std::size_t slots : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    if (slots < least_slots) continue;
    const SampleInput tensor{plain({33, 301})};
    Sample sample{.in = {tensor, code}};
    sample.in.resize(2 + slots, tensor);
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

extern const OpFamily carry;
const OpFamily carry{{
    {.name = "carry",
     .doc = "Adds the sums that wait in slots to a part's: of `code`, two numbers, so many slots "
            "hold one and so many of these, the last first, are added. in: g, code, slots.",
     .infer = infer_carry,
     .in_place = {{.out = 0, .over = 0}},
     .cost = pass_over<1>,
     .kernels = {{"loop", plain_job<carry_loop>, {.slices = false, .f64 = true}}},
     .samples = samples(0)},
    {.name = "stow",
     .doc = "The same, and puts the sum into the slot behind those that were not added.",
     .infer = infer_stow,
     .in_place = slots_in_place(),
     .cost = pass_over<1>,
     .kernels = {{"loop", plain_job<stow_loop>, {.slices = false, .f64 = true}}},
     .samples = samples(1)},
}};

}  // namespace plimsoll::ops
