// The only file that sees mpi.h: the C interface alone, since its C++ one does not link.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <vector>

#include "dist/mpi_module.h"

namespace {

struct Posted {
  MPI_Request request = MPI_REQUEST_NULL;
  int size = 0;
  bool is_receive = false;
  bool is_free = true;
};

std::vector<Posted> posted;
std::array<char, MPI_MAX_ERROR_STRING + 1> last_error{};

bool is_ok(int code) {
  if (code == MPI_SUCCESS) return true;
  int length = 0;
  MPI_Error_string(code, last_error.data(), &length);
  last_error[static_cast<std::size_t>(length)] = '\0';
  return false;
}

bool begin(int* rank, int* ranks) {
  int granted = 0;
  if (!is_ok(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted))) return false;
  return is_ok(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) &&
         is_ok(MPI_Comm_rank(MPI_COMM_WORLD, rank)) && is_ok(MPI_Comm_size(MPI_COMM_WORLD, ranks));
}

std::int32_t free_place() {
  for (std::size_t i = 0; i < posted.size(); ++i)
    if (posted[i].is_free) return static_cast<std::int32_t>(i);
  posted.emplace_back();
  return static_cast<std::int32_t>(posted.size() - 1);
}

std::int32_t send(int to, int tag, const void* bytes, std::int32_t size) {
  const std::int32_t place = free_place();
  Posted& it = posted[static_cast<std::size_t>(place)];
  if (!is_ok(MPI_Isend(bytes, size, MPI_BYTE, to, tag, MPI_COMM_WORLD, &it.request))) return -1;
  it.size = size;
  it.is_receive = it.is_free = false;
  return place;
}

std::int32_t receive(int from, int tag, void* bytes, std::int32_t size) {
  const std::int32_t place = free_place();
  Posted& it = posted[static_cast<std::size_t>(place)];
  if (!is_ok(MPI_Irecv(bytes, size, MPI_BYTE, from, tag, MPI_COMM_WORLD, &it.request))) return -1;
  it.size = size;
  it.is_receive = true;
  it.is_free = false;
  return place;
}

int test(std::int32_t request) {
  Posted& it = posted[static_cast<std::size_t>(request)];
  int is_done = 0;
  MPI_Status status;
  if (!is_ok(MPI_Test(&it.request, &is_done, &status))) return -1;
  if (is_done == 0) return 0;
  it.is_free = true;
  if (!it.is_receive) return 1;
  int count = 0;
  if (!is_ok(MPI_Get_count(&status, MPI_BYTE, &count))) return -1;
  return count == it.size || is_ok(MPI_ERR_TRUNCATE) ? 1 : -1;
}

const char* error() { return last_error.data(); }

void abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

void end() {
  for (Posted& it : posted)
    if (!it.is_free && it.is_receive && MPI_Cancel(&it.request) == MPI_SUCCESS)
      MPI_Wait(&it.request, MPI_STATUS_IGNORE);
  MPI_Finalize();
}

constexpr plimsoll::dist::MpiModule kModule{
    plimsoll::dist::MpiModule::kVersion, begin, send, receive, test, error, abort, end};

}  // namespace

extern "C" __attribute__((visibility("default"))) const plimsoll::dist::MpiModule*
plimsoll_mpi_module() {
  return &kModule;
}
