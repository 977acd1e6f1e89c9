// One call of an op outside any graph: operands made from a sample, one kernel, checks afterwards.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "exec/jobs.h"
#include "graph/graph.h"
#include "tests/support/fenced_tensor.h"

namespace plimsoll {

// The same call with images in bf16, or nothing where the op has none. Of plain tensors only the
// first can be an image; others are weights.
inline std::optional<Sample> shortened(const OpDef& op, Sample sample) {
  bool is_short = false;
  for (std::size_t i = 0; i < sample.in.size(); ++i) {
    Spec& spec = sample.in[i].spec;
    const bool is_image = spec.layout == Layout::blocked ||
                          (i == 0 && spec.layout == Layout::plain && spec.shape.rank() == 4);
    if (!is_image || spec.dtype != DType::f32) continue;
    spec.dtype = DType::bf16;
    is_short = true;
  }
  for (const AttrSchema& attr : op.attrs)
    if (attr.name == "image") {
      sample.attrs.set("image", std::string("bf16"));
      is_short = true;
    }
  return is_short ? std::optional(sample) : std::nullopt;
}

// Whether the op takes the sample as it is.
inline bool is_taken(const OpDef& op, const Sample& sample) {
  Specs specs;
  for (const SampleInput& input : sample.in) specs.push_back(input.spec);
  try {
    op.infer(complete_attrs(op, sample.attrs), specs);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// The same call with blocks of 16 channels, or nothing where the op has no blocks. Groups that then
// split a block have plain weights.
inline std::optional<Sample> with_wide_blocks(const OpDef& op, Sample sample) {
  bool is_wide = false;
  for (SampleInput& input : sample.in) {
    if (input.spec.layout == Layout::plain) continue;
    input.spec.lanes = kWideLanes;
    is_wide = true;
  }
  for (const AttrSchema& attr : op.attrs)
    if (attr.name == "lanes") {
      sample.attrs.set("lanes", kWideLanes);
      is_wide = true;
    }
  if (is_wide && !is_taken(op, sample))
    for (SampleInput& input : sample.in)
      if (input.spec.layout == Layout::kernel) input.spec.layout = Layout::plain;
  return is_wide ? std::optional(sample) : std::nullopt;
}

// Attributes of a call whose numbers are all f64.
inline Attrs promoted_attrs(const OpDef& op, const Sample& sample) {
  Attrs attrs = complete_attrs(op, sample.attrs);
  if (attrs.find("image") != nullptr) attrs.set("image", std::string("same"));
  return attrs;
}

// The sample's inputs in f64 where the op takes them so. Numbers of one element stay f32 where the
// op insists (a learning rate); everything does where it knows f32 only.
inline Specs promoted(const OpDef& op, const Sample& sample) {
  const Attrs attrs = promoted_attrs(op, sample);
  for (std::int64_t least : {std::int64_t{1}, std::int64_t{2}}) {
    Specs specs;
    for (const SampleInput& input : sample.in) {
      specs.push_back(input.spec);
      if (widened(input.spec.dtype) == DType::f32 && input.spec.shape.elements() >= least)
        specs.back().dtype = DType::f64;
    }
    try {
      op.infer(attrs, specs);
      return specs;
    } catch (const UsageError&) {
      continue;
    }
  }
  Specs specs;
  for (const SampleInput& input : sample.in) specs.push_back(input.spec);
  return specs;
}

// How the operands of a run lie in memory.
struct Setting {
  bool in_f64 = false;
  bool short_weights = false;  // which are numbers that bf16 has, as images in bf16 are
  bool sliced = false;         // blocked operands are slices of wider tensors
  std::int64_t shift = 0;      // bytes by which every buffer is moved
  int scratch_byte = 0x7F;     // what scratch holds before the run
  std::optional<InPlace> in_place = std::nullopt;
};

class OpRun {
 public:
  OpRun(const OpDef& op, const Sample& sample, Setting setting = {})
      : op_(op),
        attrs_(setting.in_f64 ? promoted_attrs(op, sample) : complete_attrs(op, sample.attrs)),
        setting_(setting) {
    Specs specs;
    if (setting.in_f64) specs = promoted(op, sample);
    for (std::size_t i = 0; i < sample.in.size(); ++i) {
      const Spec& spec = setting.in_f64 ? specs[i] : sample.in[i].spec;
      in_.emplace_back(spec, setting.shift, setting.sliced);
      std::vector<double> values = sample_values(sample.in[i], fnv1a64(op.name) + i);
      if (setting.short_weights && spec.layout != Layout::plain)
        for (double& value : values) value = Bf16(value);
      put_elements(in_.back().view(), values);
      in_views_.push_back(in_.back().view());
      in_operands_.push_back({spec, in_views_.back().is_dense()});
      before_.push_back(in_.back().content());
      if (!setting.in_f64) specs.push_back(spec);
    }
    for (const Spec& spec : op.infer(attrs_, specs)) {
      const std::optional<std::size_t> over = overwritten_by(out_views_.size(), spec);
      if (over) {
        out_views_.push_back(in_views_[*over]);
      } else {
        out_.emplace_back(spec, setting.shift, setting.sliced);
        out_views_.push_back(out_.back().view());
      }
      overwrites_.push_back(over);
      out_operands_.push_back({spec, out_views_.back().is_dense()});
    }
  }

  // False if the kernel cannot do this call; else it is ready to run.
  bool prepare(const Kernel& kernel) {
    job_ = plimsoll::prepare(kernel, {attrs_, in_operands_, out_operands_, this_process()});
    if (!job_) return false;
    job_->compile();
    scratch_.emplace(plain({job_->scratch() + 1}, DType::u8), setting_.shift, false);
    return true;
  }

  void run() {
    std::byte* scratch = scratch_->view().data;
    // The one byte more than asked for belongs to the fence.
    std::memset(scratch, setting_.scratch_byte, static_cast<std::size_t>(job_->scratch()));
    job_->run({in_views_, out_views_, scratch});
  }

  std::size_t outputs() const { return out_views_.size(); }
  const TensorView& out(std::size_t i) const { return out_views_[i]; }
  std::size_t inputs() const { return in_views_.size(); }
  const TensorView& in(std::size_t i) const { return in_views_[i]; }
  const Spec& in_spec(std::size_t i) const { return in_views_[i].spec; }
  bool has_sliced_operands() const {
    for (const Operand& operand : in_operands_)
      if (!operand.dense) return true;
    for (const Operand& operand : out_operands_)
      if (!operand.dense) return true;
    return false;
  }

  // The bits of all outputs, one after the other.
  std::vector<std::byte> bits() const {
    std::vector<std::byte> bits;
    std::size_t own = 0;
    for (std::size_t i = 0; i < outputs(); ++i) {
      const auto content = overwrites_[i] ? in_[*overwrites_[i]].content() : out_[own++].content();
      bits.insert(bits.end(), content.begin(), content.end());
    }
    return bits;
  }

  // Nothing around the operands and the scratch was written, nor an input that is not an output.
  void expect_only_outputs_written() const {
    for (const FencedTensor& tensor : out_)
      EXPECT_TRUE(tensor.fence_stands()) << "around an output";
    EXPECT_TRUE(scratch_->fence_stands()) << "around the scratch";
    EXPECT_EQ(scratch_->content().back(), FencedTensor::kFence) << "behind the scratch";
    for (std::size_t i = 0; i < in_.size(); ++i) {
      EXPECT_TRUE(in_[i].fence_stands()) << "around input " << i;
      bool output = false;
      for (const auto& over : overwrites_) output = output || over == i;
      EXPECT_TRUE(output || in_[i].content() == before_[i]) << "input " << i << " was written";
    }
  }

  void expect_padding_is_zero() const {
    for (const TensorView& view : out_views_) {
      const std::vector<double> stored = stored_elements(view);
      std::vector<bool> padding(stored.size(), true);
      ops::for_each_element(view.spec, [&](auto a, auto b, auto c, auto d) {
        padding[static_cast<std::size_t>(view.spec.offset(a, b, c, d))] = false;
      });
      std::size_t soiled = 0;
      for (std::size_t i = 0; i < stored.size(); ++i) soiled += padding[i] && stored[i] != 0;
      EXPECT_EQ(soiled, 0U) << "padding lanes of " << to_string(view.spec) << " are not zero";
    }
  }

 private:
  // The input that output `out` replaces: where the op demands it, or where the setting asks for
  // it.
  std::optional<std::size_t> overwritten_by(std::size_t out, const Spec& spec) const {
    std::vector<InPlace> rules;
    for (const InPlace& rule : op_.in_place)
      if (rule.required) rules.push_back(rule);
    if (setting_.in_place) rules.push_back(*setting_.in_place);
    for (const InPlace& rule : rules) {
      const auto over = static_cast<std::size_t>(rule.over);
      if (static_cast<std::size_t>(rule.out) != out || over >= in_views_.size()) continue;
      expect(in_views_[over].spec.bytes() == spec.bytes(), "in place needs equal sizes");
      return over;
    }
    return std::nullopt;
  }

  const OpDef& op_;
  Attrs attrs_;
  Setting setting_;
  std::vector<FencedTensor> in_, out_;
  std::vector<std::vector<std::byte>> before_;
  std::vector<std::optional<std::size_t>> overwrites_;
  std::vector<TensorView> in_views_, out_views_;
  std::vector<Operand> in_operands_, out_operands_;
  std::unique_ptr<Job> job_;
  std::optional<FencedTensor> scratch_;
};

}  // namespace plimsoll
