// Loaded before the program (LD_PRELOAD): makes the n-th of some calls on some files go wrong.
//   FAULT_PATH   only calls on paths that contain this
//   FAULT_CALLS  which: letters of w (write), r (pread), s (fsync), m (rename); default wsm
//   FAULT_TEXT   only writes of bytes that contain this
//   FAULT_AT     the first call that is hit, counted from 1; 0: none
//   FAULT_COUNT  how many are hit from there on; default 1
//   FAULT_DO     kill, stall, or a number of errno
//   FAULT_SECONDS  how long it stalls; default 60
//   FAULT_TALLY  a file that gets a byte for every such call
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> calls{0};

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

// Whether the call fails, with errno set.
bool goes_wrong(char call, const char* path) {
  const char* wanted = std::getenv("FAULT_PATH");
  const char* kinds = std::getenv("FAULT_CALLS");
  if (wanted == nullptr || std::strstr(path, wanted) == nullptr ||
      std::strchr(kinds == nullptr ? "wsm" : kinds, call) == nullptr)
    return false;
  if (const char* tally = std::getenv("FAULT_TALLY")) {
    const int file = ::open(tally, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    static auto* real =
        reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(::dlsym(RTLD_NEXT, "write"));
    if (file >= 0) real(file, &call, 1);
    ::close(file);
  }
  const long now = ++calls;
  const long first = number("FAULT_AT", 0);
  if (first == 0 || now < first || now >= first + number("FAULT_COUNT", 1)) return false;
  const char* action = std::getenv("FAULT_DO");
  if (std::strcmp(action, "kill") == 0) ::kill(::getpid(), SIGKILL);
  if (std::strcmp(action, "stall") == 0) {
    ::sleep(static_cast<unsigned>(number("FAULT_SECONDS", 60)));
    return false;
  }
  errno = std::atoi(action);
  return true;
}

bool goes_wrong(char call, int descriptor) {
  if (std::getenv("FAULT_PATH") == nullptr) return false;
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return goes_wrong(call, path);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static auto* real =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(::dlsym(RTLD_NEXT, "write"));
  const char* text = std::getenv("FAULT_TEXT");
  const bool is_meant =
      text == nullptr || ::memmem(bytes, count, text, std::strlen(text)) != nullptr;
  return is_meant && goes_wrong('w', descriptor) ? -1 : real(descriptor, bytes, count);
}

ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  static auto* real =
      reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(::dlsym(RTLD_NEXT, "pread"));
  return goes_wrong('r', descriptor) ? -1 : real(descriptor, bytes, count, offset);
}

int fsync(int descriptor) {
  static auto* real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  return goes_wrong('s', descriptor) ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  static auto* real =
      reinterpret_cast<int (*)(const char*, const char*)>(::dlsym(RTLD_NEXT, "rename"));
  return goes_wrong('m', to) ? -1 : real(from, to);
}

}  // extern "C"
