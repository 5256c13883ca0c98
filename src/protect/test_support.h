// RFC 9001, appendix A, as data, and helpers of this module's tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protect/keys.h"
#include "protect/packet_opener.h"
#include "protect/packet_sealer.h"
#include "wire/test_support.h"

namespace quasi::protect::testing {

using wire::testing::from_hex;
using wire::testing::Random;
using wire::testing::to_hex;

/// Raw keys that own their bytes.
struct RawKeys {
  aead::Algorithm algorithm = aead::Algorithm::aes_128_gcm;
  std::vector<std::uint8_t> key, iv, header_key;
  [[nodiscard]] KeyMaterial material() const { return {algorithm, key, iv, header_key}; }

  /// Keys that depend only on `seed`.
  static RawKeys random(aead::Algorithm algorithm, std::uint64_t seed) {
    Random random(seed);
    const std::size_t size = aead::key_size(algorithm);
    return {algorithm, random.bytes(size), random.bytes(12), random.bytes(size)};
  }
};

inline constexpr aead::Algorithm kAlgorithms[] = {
    aead::Algorithm::aes_128_gcm, aead::Algorithm::aes_256_gcm, aead::Algorithm::chacha20_poly1305};

/// A packet of the appendix.
struct Example {
  RawKeys keys;
  std::uint64_t packet_number;
  std::size_t packet_number_offset;
  std::vector<std::uint8_t> header, payload, packet;
};

// A.2
inline Example client_initial() {
  Example e{
      {aead::Algorithm::aes_128_gcm, from_hex("1f369613dd76d5467730efcbe3b1a22d"),
       from_hex("fa044b2f42a3fd3b46fb255c"), from_hex("9f50449e04a0e810283a1e9933adedd2")},
      2,
      18,
      from_hex("c300000001088394c8f03e5157080000449e00000002"),
      from_hex("060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69"
               "484c00000413011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a"
               "00080006001d0017001800100007000504616c706e000500050100000000003300260024001d0020"
               "9370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400"
               "0d0010000e0403050306030203080408050806002d00020101001c00024001003900320408ffffff"
               "ffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806"
               "048000ffff"),
      from_hex("c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9bd8ba"
               "b936b47d92ec356c0bab7df5976d27cd449f63300099f3991c260ec4c60d17b31f8429157bb35a12"
               "82a643a8d2262cad67500cadb8e7378c8eb7539ec4d4905fed1bee1fc8aafba17c750e2c7ace01e6"
               "005f80fcb7df621230c83711b39343fa028cea7f7fb5ff89eac2308249a02252155e2347b63d58c5"
               "457afd84d05dfffdb20392844ae812154682e9cf012f9021a6f0be17ddd0c2084dce25ff9b06cde5"
               "35d0f920a2db1bf362c23e596d11a4f5a6cf3948838a3aec4e15daf8500a6ef69ec4e3feb6b1d98e"
               "610ac8b7ec3faf6ad760b7bad1db4ba3485e8a94dc250ae3fdb41ed15fb6a8e5eba0fc3dd60bc8e3"
               "0c5c4287e53805db059ae0648db2f64264ed5e39be2e20d82df566da8dd5998ccabdae053060ae6c"
               "7b4378e846d29f37ed7b4ea9ec5d82e7961b7f25a9323851f681d582363aa5f89937f5a67258bf63"
               "ad6f1a0b1d96dbd4faddfcefc5266ba6611722395c906556be52afe3f565636ad1b17d508b73d874"
               "3eeb524be22b3dcbc2c7468d54119c7468449a13d8e3b95811a198f3491de3e7fe942b330407abf8"
               "2a4ed7c1b311663ac69890f4157015853d91e923037c227a33cdd5ec281ca3f79c44546b9d90ca00"
               "f064c99e3dd97911d39fe9c5d0b23a229a234cb36186c4819e8b9c5927726632291d6a418211cc29"
               "62e20fe47feb3edf330f2c603a9d48c0fcb5699dbfe5896425c5bac4aee82e57a85aaf4e2513e4f0"
               "5796b07ba2ee47d80506f8d2c25e50fd14de71e6c418559302f939b0e1abd576f279c4b2e0feb85c"
               "1f28ff18f58891ffef132eef2fa09346aee33c28eb130ff28f5b766953334113211996d20011a198"
               "e3fc433f9f2541010ae17c1bf202580f6047472fb36857fe843b19f5984009ddc324044e847a4f4a"
               "0ab34f719595de37252d6235365e9b84392b061085349d73203a4a13e96f5432ec0fd4a1ee65accd"
               "d5e3904df54c1da510b0ff20dcc0c77fcb2c0e0eb605cb0504db87632cf3d8b4dae6e705769d1de3"
               "54270123cb11450efc60ac47683d7b8d0f811365565fd98c4c8eb936bcab8d069fc33bd801b03ade"
               "a2e1fbc5aa463d08ca19896d2bf59a071b851e6c239052172f296bfb5e72404790a2181014f3b94a"
               "4e97d117b438130368cc39dbb2d198065ae3986547926cd2162f40a29f0c3c8745c0f50fba3852e5"
               "66d44575c29d39a03f0cda721984b6f440591f355e12d439ff150aab7613499dbd49adabc8676eef"
               "023b15b65bfc5ca06948109f23f350db82123535eb8a7433bdabcb909271a6ecbcb58b936a88cd4e"
               "8f2e6ff5800175f113253d8fa9ca8885c2f552e657dc603f252e1a8e308f76f0be79e2fb8f5d5fbb"
               "e2e30ecadd220723c8c0aea8078cdfcb3868263ff8f0940054da48781893a7e49ad5aff4af300cd8"
               "04a6b6279ab3ff3afb64491c85194aab760d58a606654f9f4400e8b38591356fbf6425aca26dc852"
               "44259ff2b19c41b9f96f3ca9ec1dde434da7d2d392b905ddf3d1f9af93d1af5950bd493f5aa731b4"
               "056df31bd267b6b90a079831aaf579be0a39013137aac6d404f518cfd46840647e78bfe706ca4cf5"
               "e9c5453e9f7cfd2b8b4c8d169a44e55c88d4a9a7f9474241e221af44860018ab0856972e194cd934")};
  e.payload.resize(1162);  // PADDING
  return e;
}

// A.3
inline Example server_initial() {
  return {
      {aead::Algorithm::aes_128_gcm, from_hex("cf3a5331653c364c88f0f379b6067e37"),
       from_hex("0ac1493ca1905853b0bba03e"), from_hex("c206b8d9b9f0f37644430b490eeaa314")},
      1,
      18,
      from_hex("c1000000010008f067a5502a4262b50040750001"),
      from_hex("02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566d"
               "c5430b9a045a1200130100002e00330024001d00209d3c940d89690b84d08a60993c144eca684d10"
               "81287c834d5311bcf32bb9da1a002b00020304"),
      from_hex("cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a"
               "1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9"
               "c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d"
               "20398c276456cbc42158407dd074ee")};
}

// A.4
inline constexpr const char* kRetry =
    "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba";

// A.5
inline Example chacha_short() {
  return {{aead::Algorithm::chacha20_poly1305,
           from_hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8"),
           from_hex("e0459b3474bdd0e44a41c144"),
           from_hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4")},
          654360564,
          1,
          from_hex("4200bff4"),
          from_hex("01"),
          from_hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb")};
}

/// A packet with a short header: its bytes, with room for the tag, and what to seal.
struct Built {
  std::vector<std::uint8_t> bytes;
  TxPacket tx;
};
inline Built build_short(std::uint64_t packet_number, std::size_t length, bool phase,
                         const std::vector<std::uint8_t>& payload) {
  Built built;
  built.bytes.resize(1 + 4 + length + payload.size() + aead::kTagSize);
  wire::Writer<wire::Forward> writer(built.bytes);
  const auto dcid = *wire::ConnectionId::from(from_hex("c0c1c2c3"));
  const auto layout = wire::write_short_header(writer, dcid, false, phase, packet_number, length);
  writer.bytes(payload);
  built.tx = {nullptr, static_cast<std::uint32_t>(built.bytes.size()),
              static_cast<std::uint32_t>(layout->packet_number_offset),
              static_cast<std::uint32_t>(length), packet_number};
  return built;
}

/// The receiver's view of a packet.
inline RxPacket received(std::vector<std::uint8_t>& bytes, std::size_t packet_number_offset) {
  RxPacket packet;
  packet.data = bytes.data();
  packet.size = static_cast<std::uint32_t>(bytes.size());
  packet.packet_number_offset = static_cast<std::uint32_t>(packet_number_offset);
  return packet;
}

}  // namespace quasi::protect::testing
