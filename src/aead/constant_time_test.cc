// Under Valgrind: keys and plaintexts are marked as uninitialised, so that Memcheck
// reports every branch and every address that depends on them. Only the verdict of
// opening may decide anything: once a message. Elsewhere the tests are skipped.
#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>) && !defined(QUASI_WASM)
#include <valgrind/memcheck.h>
#define QUASI_HAS_MEMCHECK 1
#endif
#endif

#include <gtest/gtest.h>

#include <string>

#include "aead/test_support.h"
#include "quasi/aead.h"

namespace quasi::aead {
namespace {

#ifdef QUASI_HAS_MEMCHECK

using Buffer = std::vector<std::uint8_t>;

constexpr std::size_t kSizes[] = {0,   1,   15,  16,  17,  64,   100,  191,  192,  255,
                                  256, 300, 448, 512, 700, 1024, 1200, 1350, 1452, 4200};
constexpr std::size_t kJobs = std::size(kSizes);

void make_secret(MutableBytes bytes) { VALGRIND_MAKE_MEM_UNDEFINED(bytes.data(), bytes.size()); }
void make_public(MutableBytes bytes) { VALGRIND_MAKE_MEM_DEFINED(bytes.data(), bytes.size()); }
unsigned long reports() { return VALGRIND_COUNT_ERRORS; }

class ConstantTime : public ::testing::Test {
 protected:
  void SetUp() override {
    if (RUNNING_ON_VALGRIND == 0) GTEST_SKIP() << "not running under Valgrind";
  }
};

// The control: a branch and an address that do depend on a secret are reported.
TEST_F(ConstantTime, MemcheckSeesLeaks) {
  static volatile std::uint8_t table[256];
  Buffer secret(2, 1);
  make_secret(secret);
  const unsigned long before = reports();
  if (secret[0] == 1) table[1] = 1;
  EXPECT_EQ(reports(), before + 1);
  table[0] = table[secret[1]];
  EXPECT_EQ(reports(), before + 2);
}

TEST_F(ConstantTime, OnlyVerdictsDecide) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    for (const Kernel* kernel : kernels(algorithm)) {
      SCOPED_TRACE(std::string(name(algorithm)) + ", kernel " + std::string(name(*kernel)));
      Buffer key_bytes(key_size(algorithm), 7), aad(40, 1), tags(kJobs * kTagSize);
      std::vector<Buffer> texts;
      for (const std::size_t size : kSizes) texts.emplace_back(size, 3);
      std::vector<Job> jobs(kJobs);
      for (std::size_t i = 0; i < kJobs; ++i) {
        jobs[i].in = jobs[i].out = texts[i].data();
        jobs[i].size = texts[i].size();
        jobs[i].aad = aad.data();
        jobs[i].aad_size = 2 * i;
        jobs[i].tag = tags.data() + i * kTagSize;
        jobs[i].nonce.fill(static_cast<std::uint8_t>(i));
        make_secret(texts[i]);
      }
      make_secret(key_bytes);
      unsigned long before = reports();
      AeadKey key;
      ASSERT_TRUE(key.expand(algorithm, key_bytes, *kernel));
      EXPECT_EQ(reports(), before) << "key expansion";
      key.seal_many(jobs);
      EXPECT_EQ(reports(), before) << "sealing";
      // Ciphertext and tags travel in the open.
      for (Buffer& text : texts) make_public(text);
      make_public(tags);
      before = reports();
      key.open_many(jobs);
      EXPECT_LE(reports(), before + kJobs) << "opening";
      for (Buffer& text : texts) make_public(text);
    }
  }
}

TEST_F(ConstantTime, HeaderMasks) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    for (const HeaderKernel* kernel : header_kernels(algorithm)) {
      SCOPED_TRACE(std::string(name(algorithm)) + ", kernel " + std::string(name(*kernel)));
      Buffer key_bytes(key_size(algorithm), 7), samples(20 * kSampleSize, 3);
      make_secret(key_bytes);
      const unsigned long before = reports();
      HeaderKey key;
      ASSERT_TRUE(key.expand(algorithm, key_bytes, *kernel));
      for (std::size_t count = 1; count <= 20; ++count) {
        std::vector<MaskJob> jobs(count);
        for (std::size_t i = 0; i < count; ++i) jobs[i].sample = samples.data() + i * kSampleSize;
        key.mask_many(jobs);
      }
      EXPECT_EQ(reports(), before);
    }
  }
}

#endif

}  // namespace
}  // namespace quasi::aead
