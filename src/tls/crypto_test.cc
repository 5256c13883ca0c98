// Published vectors (FIPS 180-2, RFC 4231, RFC 4648), and entropy that fills all it should.
#include "tls/crypto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace quasi::tls {
namespace {

Bytes bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Crypto, Sha256) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(hex(sha256(bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Crypto, HmacSha256) {
  // RFC 4231 §4.3 (test case 2).
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  // RFC 4231 §4.7 (test case 6): a key longer than a block.
  const std::vector<std::uint8_t> key(131, 0xaa);
  EXPECT_EQ(hex(hmac_sha256(key, bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Crypto, EntropyFillsAllAndDiffers) {
  std::vector<std::uint8_t> a(1000), b(1000);
  os_entropy(a);
  os_entropy(b);
  EXPECT_NE(a, b);
  // 1,000 random bytes hold a given value with probability 98 %, and a run of 16
  // zeros practically never: nothing was left unfilled.
  const std::vector<std::uint8_t> zeros(16, 0);
  EXPECT_EQ(std::search(a.begin(), a.end(), zeros.begin(), zeros.end()), a.end());
  os_entropy({});
}

TEST(Crypto, Base64) {
  // RFC 4648 §10.
  EXPECT_EQ(base64(bytes("")), "");
  EXPECT_EQ(base64(bytes("f")), "Zg==");
  EXPECT_EQ(base64(bytes("fo")), "Zm8=");
  EXPECT_EQ(base64(bytes("foo")), "Zm9v");
  EXPECT_EQ(base64(bytes("foobar")), "Zm9vYmFy");
  const std::uint8_t high[] = {0xfb, 0xff, 0xfe};
  EXPECT_EQ(base64(high), "+//+");
}

}  // namespace
}  // namespace quasi::tls
