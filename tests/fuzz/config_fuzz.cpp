// Any bytes as a configuration file: a UsageError, or options that, written as a file again, are
// the same options.
#include "job/toml_options.h"

#include "base/error.h"
#include "memory_file.h"

namespace {

using plimsoll::job::OptionValue;

// What a file of that text says, written anew.
std::string rewritten(std::string_view text) {
  const MemoryFile file(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  std::map<std::string, OptionValue> options;
  for (const plimsoll::job::TomlOption& option : plimsoll::job::read_options(file.path()))
    options.emplace(option.key, option.value());
  return plimsoll::job::options_text(options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string once = rewritten({reinterpret_cast<const char*>(data), size});
    plimsoll::expect(rewritten(once) == once, "options read back as themselves");
  } catch (const plimsoll::UsageError&) {
  }
  return 0;
}
