#include "cli/standard_streams.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace plimsoll::cli {
namespace {

// Of one stream; the first errno that a write met, 0: none.
struct Sink {
  int descriptor;
  std::atomic<int> failure{0};
};

Sink output{STDOUT_FILENO};
Sink errors{STDERR_FILENO};

// To the stream everything is always written: it would refuse all that follows, and fmt would
// throw.
ssize_t write_or_lose(void* cookie, const char* bytes, std::size_t count) {
  Sink& sink = *static_cast<Sink*>(cookie);
  std::size_t done = 0;
  while (done < count && sink.failure == 0) {
    const ssize_t put = ::write(sink.descriptor, bytes + done, count - done);
    if (put >= 0)
      done += static_cast<std::size_t>(put);
    else if (errno != EINTR)
      sink.failure = errno;
  }
  return static_cast<ssize_t>(count);
}

std::FILE* open_over(Sink& sink, int buffering) {
  std::FILE* stream = ::fopencookie(&sink, "w", {.write = write_or_lose});
  if (stream != nullptr) std::setvbuf(stream, nullptr, buffering, BUFSIZ);
  return stream;
}

}  // namespace

void keep_streams_going() {
  if (std::FILE* stream = open_over(output, ::isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF))
    stdout = stream;
  if (std::FILE* stream = open_over(errors, _IONBF)) stderr = stream;
}

bool is_terminal(int descriptor) {
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr && std::getenv(kTerminal) == nullptr)
    return false;
  return ::isatty(descriptor) == 1;
}

int finish_standard_output() {
  std::fflush(stdout);
  std::cout.flush();
  const int failure = output.failure != 0 ? output.failure.load() : std::cout ? 0 : EIO;
  return failure == EPIPE ? 0 : failure;
}

}  // namespace plimsoll::cli
