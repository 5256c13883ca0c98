// All kernels of an algorithm agree with the scalar one, byte for byte: random
// lengths, batches of 1 to 64, misaligned buffers, in place and out of place, bad
// tags among good ones. Guard bytes around every buffer stay as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "aead/kernel.h"
#include "aead/test_support.h"
#include "quasi/aead.h"

namespace quasi::aead {
namespace {

using testing::Random;
using Buffer = std::vector<std::uint8_t>;

constexpr std::size_t kGuard = 32;
constexpr std::uint8_t kGuardByte = 0xc5;

// A buffer that starts at any alignment and knows when somebody wrote beside it.
class Guarded {
 public:
  Guarded() = default;
  Guarded(std::size_t size, std::size_t misalignment)
      : bytes_(size + 2 * kGuard + misalignment, kGuardByte),
        begin_(kGuard + misalignment),
        size_(size) {}
  std::uint8_t* data() { return bytes_.data() + begin_; }
  [[nodiscard]] Buffer copy() const {
    return Buffer(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  bytes_.begin() + static_cast<std::ptrdiff_t>(begin_ + size_));
  }
  void set(const Buffer& from) { std::copy(from.begin(), from.end(), data()); }
  [[nodiscard]] bool intact() const {
    const auto is_guard = [](std::uint8_t b) { return b == kGuardByte; };
    return std::all_of(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_),
                       is_guard) &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_ + size_), bytes_.end(),
                       is_guard);
  }

 private:
  Buffer bytes_;
  std::size_t begin_ = 0, size_ = 0;
};

struct Message {
  Buffer text, aad, sealed, tag;
  std::array<std::uint8_t, kNonceSize> nonce;
};

std::size_t random_size(Random& random) {
  switch (random.below(8)) {
    case 0:
      return random.below(33);
    case 1:
      return random.below(300);
    case 2:
      return 16 * random.below(128);
    default:
      return random.below(1500);
  }
}

class Batch {
 public:
  Batch(Random& random, std::size_t count, std::size_t (*size)(Random&)) {
    for (std::size_t i = 0; i < count; ++i) {
      Message m;
      m.text = random.bytes(size(random));
      m.aad = random.bytes(random.below(4) == 0 ? random.below(200) : 13 + random.below(24));
      m.sealed.resize(m.text.size());
      m.tag.resize(kTagSize);
      random.fill(m.nonce);
      messages.push_back(std::move(m));
    }
  }

  std::vector<Message> messages;
};

Job job_of(const Message& m, const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) {
  return Job{.in = in,
             .out = out,
             .size = m.text.size(),
             .aad = m.aad.data(),
             .aad_size = m.aad.size(),
             .tag = tag,
             .nonce = m.nonce};
}

// Seals with the reference kernel, one message a call.
void seal_reference(const AeadKey& key, Batch& batch) {
  for (Message& m : batch.messages) {
    Job job = job_of(m, m.text.data(), m.sealed.data(), m.tag.data());
    ASSERT_TRUE(key.seal_many({&job, 1}));
  }
}

void check_kernel(const AeadKey& key, const Batch& batch, Random& random) {
  const std::size_t count = batch.messages.size();
  std::vector<Guarded> ins(count), outs(count), tags(count);
  std::vector<Job> jobs(count);
  std::vector<bool> in_place(count);

  const auto lay_out = [&](bool seal) {
    for (std::size_t i = 0; i < count; ++i) {
      const Message& m = batch.messages[i];
      in_place[i] = random.below(2) == 0;
      ins[i] = Guarded(m.text.size(), random.below(17));
      ins[i].set(seal ? m.text : m.sealed);
      outs[i] = Guarded(m.text.size(), random.below(17));
      tags[i] = Guarded(kTagSize, random.below(17));
      if (!seal) tags[i].set(m.tag);
      jobs[i] =
          job_of(m, ins[i].data(), in_place[i] ? ins[i].data() : outs[i].data(), tags[i].data());
    }
  };
  const auto result = [&](std::size_t i) { return in_place[i] ? ins[i].copy() : outs[i].copy(); };
  const auto check_guards = [&](std::size_t i) {
    ASSERT_TRUE(ins[i].intact() && outs[i].intact() && tags[i].intact()) << "message " << i;
  };

  lay_out(true);
  ASSERT_TRUE(key.seal_many(jobs));
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE("sealed message " + std::to_string(i) + " of " + std::to_string(count) + ", " +
                 std::to_string(jobs[i].size) + " bytes, in place: " + std::to_string(in_place[i]));
    ASSERT_TRUE(jobs[i].ok);
    ASSERT_EQ(result(i), batch.messages[i].sealed);
    ASSERT_EQ(tags[i].copy(), batch.messages[i].tag);
    check_guards(i);
  }

  lay_out(false);
  std::vector<bool> spoiled(count);
  for (std::size_t i = 0; i < count; ++i) {
    spoiled[i] = random.below(6) == 0;
    if (!spoiled[i]) continue;
    const auto bit = static_cast<std::uint8_t>(1U << random.below(8));
    if (random.below(2) == 0 || jobs[i].size == 0) {
      tags[i].data()[random.below(kTagSize)] ^= bit;
    } else {
      ins[i].data()[random.below(jobs[i].size)] ^= bit;
    }
  }
  const bool all_ok = key.open_many(jobs);
  EXPECT_EQ(all_ok, std::find(spoiled.begin(), spoiled.end(), true) == spoiled.end());
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE("opened message " + std::to_string(i) + " of " + std::to_string(count) + ", " +
                 std::to_string(jobs[i].size) + " bytes, in place: " + std::to_string(in_place[i]));
    ASSERT_EQ(jobs[i].ok, !spoiled[i]);
    ASSERT_EQ(result(i), spoiled[i] ? Buffer(jobs[i].size, 0) : batch.messages[i].text);
    check_guards(i);
  }
}

void compare_all(Algorithm algorithm, std::uint64_t seed, std::size_t count,
                 std::size_t (*size)(Random&)) {
  Random random(seed);
  const Buffer key_bytes = random.bytes(key_size(algorithm));
  AeadKey reference;
  ASSERT_TRUE(reference.expand(algorithm, key_bytes, *kernels(algorithm).back()));
  Batch batch(random, count, size);
  seal_reference(reference, batch);
  for (const Kernel* kernel : kernels(algorithm)) {
    SCOPED_TRACE(std::string(name(algorithm)) + ", kernel " + std::string(name(*kernel)) +
                 ", seed " + std::to_string(seed));
    AeadKey key;
    ASSERT_TRUE(key.expand(algorithm, key_bytes, *kernel));
    check_kernel(key, batch, random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Differential, RandomBatches) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      Random random(seed * 977);
      compare_all(algorithm, seed, 1 + random.below(64), random_size);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Differential, EveryLengthUpTo600) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    static std::size_t next;
    for (next = 0; next <= 600;) {
      compare_all(algorithm, 1000 + next, 25, [](Random&) { return next++; });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Differential, LongMessages) {
  // Past 4,096 bytes the low byte of GCM's counter wraps; at 70,000 its second byte does.
  for (const Algorithm algorithm : testing::kAlgorithms) {
    compare_all(algorithm, 5000, 6, [](Random& random) { return 3500 + random.below(1200); });
    if (HasFatalFailure()) return;
    compare_all(algorithm, 5001, 4, [](Random& random) { return 60000 + random.below(10001); });
    if (HasFatalFailure()) return;
  }
}

TEST(Differential, FullBatchesOfEqualPackets) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    for (const std::size_t count : {16U, 64U}) {
      compare_all(algorithm, 6000 + count, count, [](Random&) { return std::size_t{1350}; });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Differential, HeaderMasks) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    Random random(7000);
    const Buffer key_bytes = random.bytes(key_size(algorithm));
    for (std::size_t count = 1; count <= 64; ++count) {
      std::vector<Buffer> samples;
      std::vector<MaskJob> expected(count);
      HeaderKey reference;
      ASSERT_TRUE(reference.expand(algorithm, key_bytes, *header_kernels(algorithm).back()));
      for (std::size_t i = 0; i < count; ++i) samples.push_back(random.bytes(kSampleSize));
      for (std::size_t i = 0; i < count; ++i) {
        expected[i].sample = samples[i].data();
        reference.mask_many({&expected[i], 1});
      }
      for (const HeaderKernel* kernel : header_kernels(algorithm)) {
        SCOPED_TRACE(std::string(name(algorithm)) + ", kernel " + std::string(name(*kernel)));
        HeaderKey key;
        ASSERT_TRUE(key.expand(algorithm, key_bytes, *kernel));
        std::vector<MaskJob> jobs(count);
        for (std::size_t i = 0; i < count; ++i) jobs[i].sample = samples[i].data();
        key.mask_many(jobs);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(jobs[i].mask, expected[i].mask) << i;
      }
    }
  }
}

}  // namespace
}  // namespace quasi::aead
