#include "kernels/onednn/primitive.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plimsoll::kernels::onednn {
namespace {

void check(dnnl_status_t status, std::string_view what) {
  if (status != dnnl_success) bug("oneDNN refused to " + std::string(what));
}

struct Runtime {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_primitive_attr_t user_scratch = nullptr;

  Runtime() {
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "make an engine");
    check(dnnl_stream_create(&stream, engine, dnnl_stream_in_order), "make a stream");
    check(dnnl_primitive_attr_create(&user_scratch), "make attributes");
    check(dnnl_primitive_attr_set_scratchpad_mode(user_scratch, dnnl_scratchpad_mode_user),
          "leave scratch to us");
  }
};

// Lives until the process ends: primitives of other static objects may outlive any order of
// destruction we could choose.
const Runtime& runtime() {
  static const Runtime& instance = *new Runtime;
  return instance;
}

}  // namespace

dnnl_engine_t engine() { return runtime().engine; }
dnnl_stream_t stream() { return runtime().stream; }

Descriptor make_descriptor(const_dnnl_op_desc_t op, const_dnnl_primitive_desc_t hint) {
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status =
      dnnl_primitive_desc_create(&descriptor, op, runtime().user_scratch, engine(), hint);
  return Descriptor(status == dnnl_success ? descriptor : nullptr);
}

bool is_jit(const_dnnl_primitive_desc_t descriptor) {
  const char* name = nullptr;
  if (dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
    return false;
  const std::string_view implementation = name;
  return implementation.starts_with("jit") || implementation.starts_with("brg");
}

dnnl_memory_desc_t describe(std::initializer_list<std::int64_t> dims, dnnl_format_tag_t tag,
                            dnnl_data_type_t type) {
  dnnl_dims_t sizes = {};
  std::copy(dims.begin(), dims.end(), sizes);
  dnnl_memory_desc_t desc = {};
  check(dnnl_memory_desc_init_by_tag(&desc, static_cast<int>(dims.size()), sizes, type, tag),
        "describe a tensor");
  return desc;
}

Primitive::Primitive(Descriptor descriptor, std::initializer_list<int> ports)
    : descriptor_(std::move(descriptor)), ports_(ports.size() + 1) {
  expect(ports_ <= kMostPorts, "a primitive with too many operands");
  std::transform(ports.begin(), ports.end(), args_.begin(),
                 [](int port) { return dnnl_exec_arg_t{.arg = port, .memory = nullptr}; });
  args_[ports_ - 1].arg = DNNL_ARG_SCRATCHPAD;
}

Primitive::~Primitive() {
  for (const dnnl_exec_arg_t& arg : args_)
    if (arg.memory != nullptr) dnnl_memory_destroy(arg.memory);
  if (primitive_ != nullptr) dnnl_primitive_destroy(primitive_);
}

std::int64_t Primitive::scratch() const {
  const dnnl_memory_desc_t* desc =
      dnnl_primitive_desc_query_md(descriptor_.get(), dnnl_query_scratchpad_md, 0);
  return static_cast<std::int64_t>(dnnl_memory_desc_get_size(desc));
}

void Primitive::compile() {
  check(dnnl_primitive_create(&primitive_, descriptor_.get()), "generate code");
  for (std::size_t i = 0; i < ports_; ++i) {
    const dnnl_memory_desc_t* desc =
        dnnl_primitive_desc_query_md(descriptor_.get(), dnnl_query_exec_arg_md, args_[i].arg);
    check(dnnl_memory_create(&args_[i].memory, desc, engine(), DNNL_MEMORY_NONE), "make a handle");
  }
}

void Primitive::run(std::initializer_list<void*> buffers, void* scratch) noexcept {
  for (std::size_t i = 0; i < buffers.size(); ++i)
    check(dnnl_memory_set_data_handle(args_[i].memory, buffers.begin()[i]), "take a buffer");
  check(dnnl_memory_set_data_handle(args_[ports_ - 1].memory, scratch), "take scratch");
  check(dnnl_primitive_execute(primitive_, stream(), static_cast<int>(ports_), args_.data()),
        "run a primitive");
}

}  // namespace plimsoll::kernels::onednn
