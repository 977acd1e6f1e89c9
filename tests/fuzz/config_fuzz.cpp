// Any bytes as a configuration file: a UsageError, or words of the command line that, written as a
// file again, are the same words.
#include "cli/config_file.h"

#include "base/error.h"
#include "memory_file.h"

namespace {

using Words = std::vector<std::string>;

Words words_of(const CLI::App& command, std::string_view text) {
  const MemoryFile file(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  return plimsoll::cli::config_words(command, file.path());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CLI::App command;
  std::string text;
  std::int64_t number = 0;
  bool flag = false;
  command.add_option("--text", text);
  command.add_option("--number", number);
  command.add_flag("--flag", flag);
  try {
    const Words words = words_of(command, {reinterpret_cast<const char*>(data), size});
    std::map<std::string, plimsoll::cli::ConfigValue> options;
    for (const std::string& word : words) {
      const std::size_t is = word.find('=');
      const std::string key = word.substr(2, is - 2);
      if (is == std::string::npos)
        options[key] = true;
      else
        options[key] = word.substr(is + 1);
    }
    plimsoll::expect(words_of(command, plimsoll::cli::config_text(options)) == words,
                     "words read back as themselves");
  } catch (const plimsoll::UsageError&) {
  }
  return 0;
}
