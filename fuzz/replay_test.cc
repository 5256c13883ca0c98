// Every fuzz target on its checked-in corpus, on all truncations of it, and on a
// fixed number of mutations of it: the same inputs on every machine. What a fuzzer
// finds is added to the corpus and stays tested.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "targets.h"
#include "wire/test_support.h"

namespace quasi::fuzz {
namespace {

using wire::testing::from_hex;
using wire::testing::Random;
using Input = std::vector<std::uint8_t>;

constexpr std::uint64_t kSeed = 20260106;
constexpr int kMutations = 400;  // of each input

/// One input a line, in hexadecimal; `#` starts a comment.
std::vector<Input> read_corpus(std::string_view name) {
  std::vector<Input> corpus;
  const std::string path = std::string(QUASI_TEST_DATA_DIR "/") + std::string(name) + ".hex";
  std::FILE* file = std::fopen(path.c_str(), "r");  // Wasm has no file streams
  if (file == nullptr) return corpus;
  std::string line;
  for (int c = 0; c != EOF;) {
    c = std::fgetc(file);
    if (c != '\n' && c != EOF) {
      line += static_cast<char>(c);
      continue;
    }
    const Input input = from_hex(line.substr(0, line.find('#')));
    if (!input.empty()) corpus.push_back(input);
    line.clear();
  }
  std::fclose(file);
  return corpus;
}

/// What a fuzzer does most: bytes changed, inserted, removed, and inputs joined.
Input mutate(const std::vector<Input>& corpus, Input input, Random& random) {
  for (std::size_t n = 1 + random.below(4); n > 0; --n) {
    const std::size_t at = random.below(input.size() + 1);
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(5)) {
      case 0:
        if (at < input.size()) input[at] = random.byte();
        break;
      case 1:
        if (at < input.size()) {
          input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << random.below(8)));
        }
        break;
      case 2:
        input.insert(place, random.below(2) == 0 ? random.byte() : std::uint8_t{0xff});
        break;
      case 3:
        if (at < input.size()) input.erase(place);
        break;
      default: {
        const Input& other = corpus[random.below(corpus.size())];
        input.insert(place, other.begin(), other.end());
        break;
      }
    }
  }
  return input;
}

void replay(const Target& target) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const std::vector<Input> corpus = read_corpus(target.name);
  ASSERT_GE(corpus.size(), 5U) << "the corpus of " << target.name << " is missing";
  Random random(kSeed);
  target.run({});
  for (const Input& input : corpus) {
    for (std::size_t size = 0; size <= input.size(); ++size) {
      // A copy of its own size, so that a sanitizer sees every read beyond it.
      const Input part(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size));
      target.run(part);
    }
    for (int i = 0; i < kMutations; ++i) target.run(mutate(corpus, input, random));
  }
}

TEST(FuzzReplay, FramesForward) { replay(kTargets[0]); }
TEST(FuzzReplay, FramesReverse) { replay(kTargets[1]); }
TEST(FuzzReplay, PacketHeaders) { replay(kTargets[2]); }
TEST(FuzzReplay, TransportParameters) { replay(kTargets[3]); }

}  // namespace
}  // namespace quasi::fuzz
