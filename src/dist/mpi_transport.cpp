#include "dist/mpi_transport.h"

#include <dlfcn.h>

#include <limits>
#include <string>

#include "base/error.h"
#include "dist/mpi_module.h"

namespace plimsoll::dist {
namespace {

constexpr const char* kInstall = "apt-get install openmpi-bin";

[[noreturn]] void throw_not_loaded(const std::filesystem::path& module, const std::string& got) {
  throw UsageError({.where = module.string(),
                    .got = got,
                    .expected = "expected the module for runs with ranks, and Open MPI",
                    .hint = kInstall});
}

const MpiModule& load_module(const std::filesystem::path& path) {
  // Never closed: MPI leaves threads and handlers behind that lie in it.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw_not_loaded(path, dlerror());
  using Entry = const MpiModule*();
  auto* const entry = reinterpret_cast<Entry*>(dlsym(library, kMpiModuleEntry));
  if (entry == nullptr) throw_not_loaded(path, "it is another library");
  const MpiModule* const module = entry();
  if (module->version != MpiModule::kVersion)
    throw_not_loaded(path, "it is of another version of Plimsoll");
  return *module;
}

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(const MpiModule& module) : module_(module) {
    if (!module_.begin(&rank_, &ranks_)) fail("MPI");
  }
  ~MpiTransport() override {
    // Leaving waits for all others, who may wait for what this rank has not sent.
    if (!has_failed_) module_.end();
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Request send(int to, int tag, std::span<const std::byte> bytes) override {
    const Request request = module_.send(to, tag, bytes.data(), size_of(bytes.size()));
    if (request < 0) fail("rank " + std::to_string(to));
    note_peer(request, to);
    return request;
  }
  Request receive(int from, int tag, std::span<std::byte> bytes) override {
    const Request request = module_.receive(from, tag, bytes.data(), size_of(bytes.size()));
    if (request < 0) fail("rank " + std::to_string(from));
    note_peer(request, from);
    return request;
  }
  bool test(Request request) override {
    const int outcome = module_.test(request);
    if (outcome < 0) fail("rank " + std::to_string(peers_[static_cast<std::size_t>(request)]));
    return outcome > 0;
  }
  void abort(int exit_code) noexcept override { module_.abort(exit_code); }

 private:
  static std::int32_t size_of(std::size_t bytes) {
    expect(bytes <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
           "a message that MPI can count");
    return static_cast<std::int32_t>(bytes);
  }
  void note_peer(Request request, int peer) {
    const auto place = static_cast<std::size_t>(request);
    if (place >= peers_.size()) peers_.resize(place + 1);
    peers_[place] = peer;
  }
  [[noreturn]] void fail(const std::string& where) {
    has_failed_ = true;
    throw DataError({.where = where,
                     .got = module_.error(),
                     .expected = "expected all ranks, and the same program on each"});
  }

  const MpiModule& module_;
  int rank_ = 0;
  int ranks_ = 0;
  bool has_failed_ = false;
  std::vector<int> peers_;  // of requests
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const std::filesystem::path& module) {
  return std::make_unique<MpiTransport>(load_module(module));
}

}  // namespace plimsoll::dist
