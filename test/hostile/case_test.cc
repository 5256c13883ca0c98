// Runs every file of cases/ (see case_file.h): the input is sent after a real
// handshake, or within it; the victim has to close with a right code or to survive,
// within bounds of memory, of answers and of allocations; and has to serve the next
// connection. Each input also comes with every one of its bytes damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hostile/case_file.h"
#include "hostile/heap.h"
#include "hostile/hostile.h"

namespace quasi::hostile {
namespace {

struct Source {
  const char* name;
  const char* text;
};

/// What GoogleTest calls to name a parameter.
void PrintTo(const Source& source, std::ostream* out) { *out << source.name; }

constexpr Source kSources[] = {
#include "hostile_cases.inc"
};

Hostile::Options options_of(const Case& c) {
  Hostile::Options options;
  options.victim = c.victim;
  options.raw.more_parameters = c.parameters;
  // A client that knows the handshake to be confirmed has no Handshake keys any more.
  options.raw.sends_handshake_done = !c.during_handshake;
  options.session.server.transport.max_datagram_frame_size = 1200;
  return options;
}

class Cases : public ::testing::TestWithParam<Source> {
 protected:
  static Case load() {
    std::string error;
    auto parsed = parse_case(GetParam().name, GetParam().text, error);
    EXPECT_TRUE(parsed.has_value()) << error;
    return parsed ? *parsed : Case();
  }

  /// Brings the victim to the point where the case begins.
  static bool prepare(Hostile& hostile, const Case& c) {
    if (!c.parameters.empty()) {
      hostile.begin();
      hostile.run(Duration::milliseconds(500));
      return true;
    }
    if (!c.during_handshake) return hostile.handshake();
    hostile.begin();
    // A server is attacked right behind its first packet, a client once there are keys.
    if (c.victim == Side::client) hostile.run(Duration::milliseconds(200));
    return true;
  }

  static std::optional<std::pair<std::uint64_t, std::uint64_t>> close_of(Hostile& hostile) {
    if (hostile.raw.close) {
      return std::pair(hostile.raw.close->code, hostile.raw.close->frame_type);
    }
    if (Connection* victim = hostile.victim(); victim != nullptr && victim->is_closed()) {
      return std::pair(victim->close_reason().error_code, victim->close_reason().frame_type);
    }
    return std::nullopt;
  }
};

TEST_P(Cases, IsAnsweredAsItDeserves) {
  const Case c = load();
  Hostile hostile(options_of(c));
  ASSERT_TRUE(prepare(hostile, c)) << "no handshake";
  const std::size_t answers = hostile.raw.datagrams;
  const std::uint64_t heap = live_bytes();
  const std::uint64_t allocations = allocation_count();
  for (const Case::Packet& packet : c.packets) hostile.raw.send(packet.type, packet.payload);
  hostile.run(Duration::milliseconds(300));

  const auto close = close_of(hostile);
  if (c.codes.empty()) {
    EXPECT_FALSE(close) << "closed with " << std::hex << close->first;
    EXPECT_FALSE(hostile.closed());
  } else {
    ASSERT_TRUE(close) << "not closed";
    EXPECT_TRUE(hostile.closed());
    EXPECT_NE(std::find(c.codes.begin(), c.codes.end(), close->first), c.codes.end())
        << "closed with " << std::hex << close->first;
    if (c.frame_type) {
      EXPECT_EQ(close->second, *c.frame_type);
    }
  }
  // Bounded work and memory, whatever the input: a handful of answers a packet, no more
  // than the receive windows of bytes, allocations in proportion to the input.
  EXPECT_LE(hostile.raw.datagrams - answers, 8 + 2 * c.packets.size());
  EXPECT_LE(live_bytes(), heap + (std::uint64_t{1} << 19));
  EXPECT_LE(allocation_count() - allocations, 2'000 + 200 * c.packets.size());
  hostile.expect_alive();
}

/// Those that are packets after the handshake.
class DamagedCases : public Cases {};

std::vector<Source> damageable() {
  std::vector<Source> sources;
  for (const Source& source : kSources) {
    const std::string_view text = source.text;
    if (text.find("parameters:") == text.npos && text.find("stage:") == text.npos) {
      sources.push_back(source);
    }
  }
  return sources;
}

// damage to any byte of a protected packet has no effect but on a counter.
TEST_P(DamagedCases, AreDropped) {
  const Case c = load();
  Hostile hostile(options_of(c));
  ASSERT_TRUE(hostile.handshake());
  const Case::Packet& packet = c.packets.front();
  const ByteVector good = hostile.raw.packet(packet.type, packet.payload);
  ASSERT_FALSE(good.empty());
  hostile.raw.acknowledges = false;
  const auto before = hostile.victim()->stats();
  const std::size_t step = good.size() > 200 ? good.size() / 100 : 1;
  std::size_t sent = 0;
  for (std::size_t at = 0; at < good.size(); at += step, ++sent) {
    ByteVector bad = good;
    bad[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
    hostile.inject(bad);
  }
  hostile.run(Duration::milliseconds(300));
  ASSERT_FALSE(hostile.closed());
  const auto after = hostile.victim()->stats();
  EXPECT_EQ(after.packets_received, before.packets_received);
  EXPECT_LE(after.packets_undecryptable + after.packets_duplicate,
            before.packets_undecryptable + before.packets_duplicate + sent);
  hostile.expect_alive();
}

INSTANTIATE_TEST_SUITE_P(Files, Cases, ::testing::ValuesIn(kSources),
                         [](const auto& source) { return std::string(source.param.name); });

INSTANTIATE_TEST_SUITE_P(Files, DamagedCases, ::testing::ValuesIn(damageable()),
                         [](const auto& source) { return std::string(source.param.name); });

TEST(CaseFile, HexKnowsRepetition) {
  EXPECT_EQ(parse_hex("01 ff x3"), (std::vector<std::uint8_t>{1, 255, 255, 255}));
  EXPECT_EQ(parse_hex("(01 02) x2 03"), (std::vector<std::uint8_t>{1, 2, 1, 2, 3}));
  EXPECT_EQ(parse_hex("0102 x2"), (std::vector<std::uint8_t>{1, 2, 1, 2}));
  EXPECT_FALSE(parse_hex("1"));
  EXPECT_FALSE(parse_hex("01 x0"));
  EXPECT_FALSE(parse_hex("(01"));
  EXPECT_FALSE(parse_hex("zz"));
}

TEST(CaseFile, SaysWhatIsWrong) {
  std::string error;
  EXPECT_FALSE(parse_case("a", "payload: 01\nexpect: 0a\nnonsense: 1\n", error));
  EXPECT_EQ(error, "a, line 3: unknown key");
  EXPECT_FALSE(parse_case("b", "payload: 01\n", error));
  EXPECT_FALSE(parse_case("c", "expect: alive\n", error));
}

}  // namespace
}  // namespace quasi::hostile
