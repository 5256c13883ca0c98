// Published vectors and the contract of the classes, on every kernel.
#include "quasi/aead.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

#include "aead/test_support.h"

namespace quasi::aead {
namespace {

using testing::hex;
using Buffer = std::vector<std::uint8_t>;

struct Vector {
  const char* source;
  Algorithm algorithm;
  const char* key;
  const char* nonce;
  const char* aad;
  const char* message;
  const char* ciphertext;
  const char* tag;
};

constexpr const char* kGcmKey = "feffe9928665731c6d6a8f9467308308";
constexpr const char* kGcmLongKey =
    "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
constexpr const char* kGcmMessage60 =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
constexpr const char* kGcmMessage64 =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";

constexpr Vector kVectors[] = {
    {"GCM specification, test case 1", Algorithm::aes_128_gcm, "00000000000000000000000000000000",
     "000000000000000000000000", "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
    {"GCM specification, test case 2", Algorithm::aes_128_gcm, "00000000000000000000000000000000",
     "000000000000000000000000", "", "00000000000000000000000000000000",
     "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"},
    {"GCM specification, test case 3", Algorithm::aes_128_gcm, kGcmKey, "cafebabefacedbaddecaf888",
     "", kGcmMessage64,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
     "4d5c2af327cd64a62cf35abd2ba6fab4"},
    {"GCM specification, test case 4", Algorithm::aes_128_gcm, kGcmKey, "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2", kGcmMessage60,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {"GCM specification, test case 13", Algorithm::aes_256_gcm,
     "0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"GCM specification, test case 14", Algorithm::aes_256_gcm,
     "0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "00000000000000000000000000000000", "cea7403d4d606b6e074ec5d3baf39d18",
     "d0d1c8a799996bf0265b98b5d48ab919"},
    {"GCM specification, test case 15", Algorithm::aes_256_gcm, kGcmLongKey,
     "cafebabefacedbaddecaf888", "", kGcmMessage64,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
     "b094dac5d93471bdec1a502270e3cc6c"},
    {"GCM specification, test case 16", Algorithm::aes_256_gcm, kGcmLongKey,
     "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", kGcmMessage60,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {"RFC 8439 2.8.2", Algorithm::chacha20_poly1305,
     "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
     "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
     "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
     "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
     "637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
     "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
     "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
     "3ff4def08e4b7a9de576d26586cec64b6116",
     "1ae10b594f09e26a7e902ecbd0600691"},
    // The server's Initial: header and payload as they are sealed, before header protection.
    {"RFC 9001 A.3", Algorithm::aes_128_gcm, "cf3a5331653c364c88f0f379b6067e37",
     "0ac1493ca1905853b0bba03f", "c1000000010008f067a5502a4262b50040750001",
     "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739"
     "88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94"
     "0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00"
     "020304",
     "5a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f"
     "5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73"
     "cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850"
     "abbdca",
     "3d20398c276456cbc42158407dd074ee"},
    {"RFC 9001 A.4, Retry integrity", Algorithm::aes_128_gcm, "be0c690b9f66575a1d766b54e368c84e",
     "461599d35d632bf2239825bb", "088394c8f03e515708ff000000010008f067a5502a4262b5746f6b656e", "",
     "", "04a265ba2eff4d829058fb3f0f2496ba"},
    {"RFC 9001 A.5", Algorithm::chacha20_poly1305,
     "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8", "e0459b3474bdd0e46d417eb0",
     "4200bff4", "01", "65", "5e5cd55c41f69080575d7999c25a5bfb"},
};

Job make_job(const Buffer& aad, const Buffer& nonce, const Buffer& in, Buffer& out, Buffer& tag) {
  Job job{.in = in.data(),
          .out = out.data(),
          .size = in.size(),
          .aad = aad.data(),
          .aad_size = aad.size(),
          .tag = tag.data()};
  std::memcpy(job.nonce.data(), nonce.data(), nonce.size());
  return job;
}

TEST(Aead, PublishedVectorsOnEveryKernel) {
  for (const Vector& vector : kVectors) {
    for (const Kernel* kernel : kernels(vector.algorithm)) {
      SCOPED_TRACE(std::string(vector.source) + ", kernel " + std::string(name(*kernel)));
      AeadKey key;
      ASSERT_TRUE(key.expand(vector.algorithm, hex(vector.key), *kernel));
      const Buffer message = hex(vector.message), ciphertext = hex(vector.ciphertext),
                   aad = hex(vector.aad), nonce = hex(vector.nonce);
      Buffer out(message.size()), tag(kTagSize);
      Job job = make_job(aad, nonce, message, out, tag);
      EXPECT_TRUE(key.seal_many({&job, 1}));
      EXPECT_TRUE(job.ok);
      EXPECT_EQ(out, ciphertext);
      EXPECT_EQ(tag, hex(vector.tag));
      Buffer opened(message.size(), 0xee);
      job = make_job(aad, nonce, ciphertext, opened, tag);
      EXPECT_TRUE(key.open_many({&job, 1}));
      EXPECT_EQ(opened, message);
      tag[3] ^= 0x10;
      opened.assign(message.size(), 0xee);
      EXPECT_FALSE(key.open_many({&job, 1}));
      EXPECT_EQ(opened, Buffer(message.size(), 0));
    }
  }
}

struct MaskVector {
  const char* source;
  Algorithm algorithm;
  const char* key;
  const char* sample;
  const char* mask;  // as many bytes as the source prints
};

constexpr MaskVector kMaskVectors[] = {
    {"RFC 9001 A.2", Algorithm::aes_128_gcm, "9f50449e04a0e810283a1e9933adedd2",
     "d1b1c98dd7689fb8ec11d242b123dc9b", "437b9aec36"},
    {"RFC 9001 A.3", Algorithm::aes_128_gcm, "c206b8d9b9f0f37644430b490eeaa314",
     "2cd0991cd25b0aac406a5816b6394100", "2ec0d8356a"},
    {"RFC 9001 A.5", Algorithm::chacha20_poly1305,
     "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
     "5e5cd55c41f69080575d7999c25a5bfb", "aefefe7d03"},
    {"FIPS 197 C.1", Algorithm::aes_128_gcm, "000102030405060708090a0b0c0d0e0f",
     "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"FIPS 197 C.3", Algorithm::aes_256_gcm,
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "00112233445566778899aabbccddeeff", "8ea2b7ca516745bfeafc49904b496089"},
};

TEST(Aead, HeaderMaskVectorsOnEveryKernel) {
  for (const MaskVector& vector : kMaskVectors) {
    for (const HeaderKernel* kernel : header_kernels(vector.algorithm)) {
      SCOPED_TRACE(std::string(vector.source) + ", kernel " + std::string(name(*kernel)));
      HeaderKey key;
      ASSERT_TRUE(key.expand(vector.algorithm, hex(vector.key), *kernel));
      const Buffer sample = hex(vector.sample), expected = hex(vector.mask);
      const auto mask =
          key.mask(std::span<const std::uint8_t, kSampleSize>(sample.data(), kSampleSize));
      EXPECT_EQ(Buffer(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(expected.size())),
                expected);
    }
  }
}

TEST(Aead, KeysOfTheWrongSizeAreRefused) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    AeadKey key;
    HeaderKey header_key;
    ASSERT_TRUE(key.expand(algorithm, Buffer(key_size(algorithm))));
    ASSERT_TRUE(header_key.expand(algorithm, Buffer(key_size(algorithm))));
    for (const std::size_t size : {std::size_t{0}, key_size(algorithm) - 1, std::size_t{33}}) {
      const Status status = key.expand(algorithm, Buffer(size));
      ASSERT_FALSE(status);
      EXPECT_NE(std::string_view(status.error().reason).find("takes a key of"),
                std::string_view::npos);
      EXPECT_FALSE(key);
      EXPECT_FALSE(header_key.expand(algorithm, Buffer(size)));
      EXPECT_FALSE(header_key);
    }
  }
}

TEST(Aead, WithoutAKeyNothingIsDone) {
  const AeadKey key;
  Buffer in(32, 1), out(32, 2), tag(16, 3);
  Job job = make_job({}, Buffer(12), in, out, tag);
  job.ok = true;
  EXPECT_FALSE(key.seal_many({&job, 1}));
  EXPECT_FALSE(job.ok);
  EXPECT_FALSE(key.open_many({&job, 1}));
  EXPECT_EQ(out, Buffer(32, 2));
  EXPECT_EQ(tag, Buffer(16, 3));
}

TEST(Aead, PartlyOverlappingBuffersAreRefusedAndOthersServed) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    AeadKey key;
    ASSERT_TRUE(key.expand(algorithm, Buffer(key_size(algorithm), 7)));
    Buffer area(256, 1), tags(48);
    Job jobs[3];
    for (unsigned i = 0; i < 3; ++i) jobs[i].tag = tags.data() + 16 * i;
    jobs[0].in = area.data();
    jobs[0].out = area.data() + 64;
    jobs[0].size = 64;  // touches, does not overlap
    jobs[1].in = area.data() + 128;
    jobs[1].out = area.data() + 129;
    jobs[1].size = 64;
    jobs[2].in = jobs[2].out = area.data() + 200;
    jobs[2].size = 56;
    EXPECT_FALSE(key.seal_many(jobs));
    EXPECT_TRUE(jobs[0].ok);
    EXPECT_FALSE(jobs[1].ok);
    EXPECT_TRUE(jobs[2].ok);
    EXPECT_EQ(Buffer(area.begin() + 128, area.begin() + 193), Buffer(65, 1));
    EXPECT_EQ(Buffer(tags.begin() + 16, tags.begin() + 32), Buffer(16, 0));
    EXPECT_NE(Buffer(area.begin() + 200, area.end()), Buffer(56, 1));
    jobs[2].nonce[0] = 1;
    EXPECT_FALSE(key.open_many(jobs));
    EXPECT_FALSE(jobs[2].ok);
  }
}

TEST(Aead, AKeyMovesAndLeavesNothingBehind) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    for (const Kernel* kernel : kernels(algorithm)) {
      AeadKey first;
      ASSERT_TRUE(first.expand(algorithm, Buffer(key_size(algorithm), 9), *kernel));
      Buffer message(100, 5), sealed(100), again(100), tag(16), tag_again(16);
      Job job = make_job({}, Buffer(12, 1), message, sealed, tag);
      ASSERT_TRUE(first.seal_many({&job, 1}));
      AeadKey second(std::move(first));
      EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left is the point
      AeadKey third;
      third = std::move(second);
      job = make_job({}, Buffer(12, 1), message, again, tag_again);
      ASSERT_TRUE(third.seal_many({&job, 1}));
      EXPECT_EQ(again, sealed);
      EXPECT_EQ(tag_again, tag);
    }
  }
}

TEST(Aead, SinglePacketCallsAgreeWithJobs) {
  AeadKey key;
  ASSERT_TRUE(key.expand(Algorithm::aes_128_gcm, hex(kGcmKey)));
  const Buffer nonce = hex("cafebabefacedbaddecaf888"), message = hex(kGcmMessage64);
  Buffer text = message;
  std::array<std::uint8_t, kTagSize> tag;
  const std::span<const std::uint8_t, kNonceSize> nonce_view(nonce.data(), kNonceSize);
  ASSERT_TRUE(key.seal(nonce_view, {}, text, text.data(), tag));
  EXPECT_EQ(Buffer(tag.begin(), tag.end()), hex("4d5c2af327cd64a62cf35abd2ba6fab4"));
  ASSERT_TRUE(key.open(nonce_view, {}, text, text.data(), tag));
  EXPECT_EQ(text, message);
  tag[15] ^= 1;
  EXPECT_FALSE(key.open(nonce_view, {}, text, text.data(), tag));
  EXPECT_EQ(text, Buffer(64, 0));
}

TEST(Aead, EveryAlgorithmHasTheScalarKernelLast) {
  for (const Algorithm algorithm : testing::kAlgorithms) {
    EXPECT_EQ(name(*kernels(algorithm).back()), "scalar");
    EXPECT_EQ(name(*header_kernels(algorithm).back()), "scalar");
  }
}

}  // namespace
}  // namespace quasi::aead
