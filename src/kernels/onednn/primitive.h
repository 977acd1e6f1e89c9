// oneDNN behind a small door: one engine and stream for the process, primitives that own their
// handles.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace plimsoll::kernels::onednn {

// Made at first use; the primitive cache is switched off, since every job holds its own primitives.
dnnl_engine_t engine();
dnnl_stream_t stream();

struct DescriptorDeleter {
  void operator()(dnnl_primitive_desc_t descriptor) const {
    dnnl_primitive_desc_destroy(descriptor);
  }
};
// What a primitive will do and with how much scratch; cheap to make, no code is generated yet.
using Descriptor = std::unique_ptr<std::remove_pointer_t<dnnl_primitive_desc_t>, DescriptorDeleter>;

// Scratch is the caller's (scratchpad_mode_user). `hint` is the forward descriptor of a backward
// op, or null. Null when oneDNN has nothing for it.
Descriptor make_descriptor(const_dnnl_op_desc_t op, const_dnnl_primitive_desc_t hint = nullptr);

// Whether `descriptor` is served by generated code: what else oneDNN has is slower by two orders.
bool is_jit(const_dnnl_primitive_desc_t descriptor);

// Dense memory of the given dimensions.
dnnl_memory_desc_t describe(std::initializer_list<std::int64_t> dims, dnnl_format_tag_t tag,
                            dnnl_data_type_t type = dnnl_f32);

// One primitive and the handles of its operands. Run by one thread at a time.
class Primitive {
 public:
  // `ports` are the DNNL_ARG_ numbers of the operands, in the order in which run() gets their data.
  Primitive(Descriptor descriptor, std::initializer_list<int> ports);
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;
  ~Primitive();

  std::int64_t scratch() const;
  // Generates the code; the thread count of that moment is built in.
  void compile();
  void run(std::initializer_list<void*> buffers, void* scratch) noexcept;

 private:
  static constexpr std::size_t kMostPorts = 5;
  Descriptor descriptor_;
  dnnl_primitive_t primitive_ = nullptr;
  std::array<dnnl_exec_arg_t, kMostPorts> args_{};  // the last one in use is the scratchpad
  std::size_t ports_ = 0;
};

}  // namespace plimsoll::kernels::onednn
