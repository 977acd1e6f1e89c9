// Stands in for libFuzzer where there is none: runs a fuzz target on every file of a corpus, then
// on mutations of them, the same ones each time.
//   <target> [--mutations N] CORPUS_FOLDER
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

// A stream of numbers from one key.
class Dice {
 public:
  explicit Dice(std::uint64_t key) : key_(key) {}
  // In [0, bound).
  std::size_t below(std::size_t bound) { return plimsoll::philox(key_, next_++)[0] % bound; }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

std::vector<Input> load_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::ranges::sort(paths);
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

void mutate(Input& input, const std::vector<Input>& corpus, Dice& dice) {
  constexpr std::uint8_t kEdges[] = {0,   1,   0x7F, 0x80, 0xFF, '"', '{',
                                     '}', '[', ']',  ',',  '-',  '9'};
  const auto at = [&](std::size_t bound) { return static_cast<std::ptrdiff_t>(dice.below(bound)); };
  if (input.empty()) {
    input.push_back(static_cast<std::uint8_t>(dice.below(256)));
    return;
  }
  switch (dice.below(7)) {
    case 0:
      input[dice.below(input.size())] ^= static_cast<std::uint8_t>(1U << dice.below(8));
      break;
    case 1: input[dice.below(input.size())] = kEdges[dice.below(std::size(kEdges))]; break;
    case 2: input.resize(dice.below(input.size())); break;
    case 3:
      input.insert(input.begin() + at(input.size()), kEdges[dice.below(std::size(kEdges))]);
      break;
    case 4: input.erase(input.begin() + at(input.size())); break;
    case 5: {  // repeat a part of itself
      const Input copy = input;
      const std::ptrdiff_t from = at(copy.size());
      const std::ptrdiff_t length = 1 + at(copy.size() - static_cast<std::size_t>(from));
      input.insert(input.begin() + at(input.size()), copy.begin() + from,
                   copy.begin() + from + length);
      break;
    }
    default: {  // go on as another file does
      const Input& other = corpus[dice.below(corpus.size())];
      if (other.empty()) break;
      input.resize(dice.below(input.size()));
      input.insert(input.end(), other.begin() + at(other.size()), other.end());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  std::uint64_t mutations = 0;
  std::filesystem::path folder;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (std::string_view(arguments[i]) == "--mutations" && i + 1 < arguments.size())
      mutations = std::stoull(arguments[++i]);
    else
      folder = arguments[i];
  }
  const std::vector<Input> corpus = load_corpus(folder);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no files; a fuzz target needs a corpus\n", folder.c_str());
    return 1;
  }
  for (const Input& input : corpus) LLVMFuzzerTestOneInput(input.data(), input.size());
  for (std::uint64_t i = 0; i < mutations; ++i) {
    Dice dice(i);
    Input input = corpus[dice.below(corpus.size())];
    for (std::size_t n = 1 + dice.below(4); n > 0; --n) mutate(input, corpus, dice);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu files, %llu mutations\n", corpus.size(),
              static_cast<unsigned long long>(mutations));
  return 0;
}
