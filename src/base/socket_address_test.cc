// Text forms of addresses, in and out.
#include "quasi/socket_address.h"

#include <gtest/gtest.h>

#include <string>

namespace quasi {
namespace {

using Family = SocketAddress::Family;

TEST(SocketAddress, ReadsIpv4WithPort) {
  const auto a = SocketAddress::parse("192.0.2.1:443");
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->family, Family::ipv4);
  EXPECT_EQ(a->port, 443);
  EXPECT_EQ(a->ip, (std::array<std::uint8_t, 16>{192, 0, 2, 1}));
  EXPECT_EQ(a->to_string(), "192.0.2.1:443");
  EXPECT_EQ(SocketAddress::parse("255.255.255.255:65535")->to_string(), "255.255.255.255:65535");
  EXPECT_EQ(SocketAddress::parse("0.0.0.0:0")->to_string(), "0.0.0.0:0");
}

TEST(SocketAddress, ReadsIpv6WithPort) {
  const auto a = SocketAddress::parse("[2001:db8::1]:4433");
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->family, Family::ipv6);
  EXPECT_EQ(a->port, 4433);
  EXPECT_EQ(a->ip, (std::array<std::uint8_t, 16>{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 0, 0, 1}));
}

TEST(SocketAddress, RefusesWhatIsNotAnAddress) {
  for (const char* text : {"",
                           ":",
                           "1.2.3.4",
                           "1.2.3.4:",
                           "1.2.3.4:65536",
                           "1.2.3.4:-1",
                           "1.2.3.4:+1",
                           "1.2.3.4: 1",
                           "1.2.3.4:0x1",
                           "1.2.3.4:00080",
                           "1.2.3:80",
                           "1.2.3.4.5:1",
                           "1.2.3.256:1",
                           "1.2.3.04:1",
                           "1..3.4:1",
                           ".1.2.3.4:1",
                           "1.2.3.4.:1",
                           "localhost:443",
                           "a.b.c.d:1",
                           "[]:1",
                           "[::1]",
                           "[::1]:",
                           "[::1:1",
                           "::1]:1",
                           "::1:443",
                           "2001:db8::1:443",
                           "[1.2.3.4]:1",
                           "[::1]x:1",
                           "[fe80::1%]:1",
                           "[fe80::1%eth0]:1",
                           "[fe80::1%4294967296]:1",
                           "1.2.3.4:99999999999",
                           "[[::1]]:1"}) {
    EXPECT_FALSE(SocketAddress::parse(text).has_value()) << text;
  }
}

TEST(SocketAddress, RefusesMalformedIpv6) {
  for (const char* text : {":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
                           "12345::", "g::", ":1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8",
                           "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", "::1.2.3",
                           "::1.2.3.4.5", "::1.2.3.4:5", "[::1", "::1]"}) {
    EXPECT_FALSE(SocketAddress::parse_ip(text, 1).has_value()) << text;
  }
}

// RFC 5952 §4 and §5.
TEST(SocketAddress, PrintsIpv6InItsCanonicalForm) {
  const struct {
    const char* in;
    const char* out;
  } cases[] = {
      {"::", "[::]:1"},
      {"::1", "[::1]:1"},
      {"1::", "[1::]:1"},
      {"2001:0DB8::0001", "[2001:db8::1]:1"},
      {"2001:db8:0:0:0:0:2:1", "[2001:db8::2:1]:1"},
      {"2001:db8:0:1:1:1:1:1", "[2001:db8:0:1:1:1:1:1]:1"},
      {"2001:0:0:1:0:0:0:1", "[2001:0:0:1::1]:1"},
      {"2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:1"},
      {"1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:1"},
      {"1:2:3:4:5:6:7::", "[1:2:3:4:5:6:7:0]:1"},
      {"::2:3:4:5:6:7:8", "[0:2:3:4:5:6:7:8]:1"},
      {"a:b:c:d:e:f:100:1000", "[a:b:c:d:e:f:100:1000]:1"},
      {"::ffff:192.0.2.33", "[::ffff:192.0.2.33]:1"},
      {"64:ff9b::192.0.2.33", "[64:ff9b::c000:221]:1"},
      {"fe80::1%7", "[fe80::1%7]:1"},
      {"[::1]", "[::1]:1"},
  };
  for (const auto& c : cases) {
    const auto a = SocketAddress::parse_ip(c.in, 1);
    ASSERT_TRUE(a.has_value()) << c.in;
    EXPECT_EQ(a->to_string(), c.out) << c.in;
    // What is printed is read back as the same value.
    const auto again = SocketAddress::parse(c.out);
    ASSERT_TRUE(again.has_value()) << c.out;
    EXPECT_EQ(*again, *a) << c.in;
  }
}

TEST(SocketAddress, EveryByteOfAnAddressSurvivesItsText) {
  for (std::size_t i = 0; i < 16; ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      SocketAddress a;
      a.family = Family::ipv6;
      a.port = static_cast<std::uint16_t>(value);
      a.ip[i] = static_cast<std::uint8_t>(value);
      const auto again = SocketAddress::parse(a.to_string());
      ASSERT_TRUE(again.has_value()) << a.to_string();
      EXPECT_EQ(*again, a) << a.to_string();
    }
  }
}

TEST(SocketAddress, ComparesEveryMember) {
  const SocketAddress a = *SocketAddress::parse("[fe80::1%1]:1");
  EXPECT_NE(a, *SocketAddress::parse("[fe80::1%2]:1"));
  EXPECT_NE(a, *SocketAddress::parse("[fe80::1%1]:2"));
  EXPECT_NE(a, *SocketAddress::parse("[fe80::2%1]:1"));
  EXPECT_FALSE(SocketAddress().is_valid());
  EXPECT_TRUE(a.is_valid());
  EXPECT_EQ(SocketAddress().to_string(), "unspecified");
}

}  // namespace
}  // namespace quasi
