// A path's allowance before it is validated, and the search for its MTU.
#include "connection/path.h"

#include <gtest/gtest.h>

#include <vector>

namespace quasi::connection {
namespace {

TEST(Path, ThreeTimesWhatCameUntilValidated) {
  Path path;
  EXPECT_EQ(path.send_allowance(), 0U);
  path.bytes_received = 1200;
  EXPECT_EQ(path.send_allowance(), 3600U);
  path.bytes_sent = 3600;
  EXPECT_EQ(path.send_allowance(), 0U);
  path.bytes_sent = 4000;  // never negative
  EXPECT_EQ(path.send_allowance(), 0U);
  path.validated = true;
  EXPECT_EQ(path.send_allowance(), UINT64_MAX);
}

/// The sizes that are tried when those above `largest` are lost.
std::vector<std::size_t> probes(MtuProber& prober, std::size_t largest) {
  std::vector<std::size_t> sizes;
  while (const std::size_t size = prober.probe_size()) {
    sizes.push_back(size);
    prober.on_probe_sent();
    EXPECT_EQ(prober.probe_size(), 0U);  // one at a time
    size <= largest ? prober.on_probe_acked(size) : prober.on_probe_lost(size);
  }
  return sizes;
}

TEST(MtuProber, TriesFromTheLargestDown) {
  MtuProber prober(true, 1472, false);
  EXPECT_EQ(prober.current(), 1200U);
  EXPECT_EQ(probes(prober, 1400),
            (std::vector<std::size_t>{1472, 1472, 1472, 1420, 1420, 1420, 1350}));
  EXPECT_EQ(prober.current(), 1350U);
}

TEST(MtuProber, EndsWhenNothingPasses) {
  MtuProber prober(true, 65'527, true);
  EXPECT_EQ(probes(prober, 1200).size(), 12U);
  EXPECT_EQ(prober.current(), 1200U);
}

TEST(MtuProber, NeverAbovePeersLimitNorBelowTheLeast) {
  MtuProber small(true, 1300, false);
  EXPECT_EQ(probes(small, 9'000), (std::vector<std::size_t>{1300}));
  MtuProber least(true, 1200, false);
  EXPECT_EQ(least.probe_size(), 0U);
  MtuProber off(false, 1472, false);
  EXPECT_EQ(off.probe_size(), 0U);
  EXPECT_EQ(off.current(), 1200U);
}

TEST(MtuProber, BlackHoleGoesBack) {
  MtuProber prober(true, 1472, false);
  EXPECT_EQ(probes(prober, 1472), (std::vector<std::size_t>{1472}));
  prober.on_black_hole();
  EXPECT_EQ(prober.current(), 1200U);
  EXPECT_EQ(prober.probe_size(), 0U);
}

TEST(MtuProber, LateNewsOfAnOlderSizeIsIgnored) {
  MtuProber prober(true, 1472, false);
  prober.on_probe_sent();
  prober.on_probe_lost(1420);  // not the size in question
  prober.on_probe_sent();
  prober.on_probe_lost(1472);
  prober.on_probe_sent();
  prober.on_probe_lost(1472);
  EXPECT_EQ(prober.probe_size(), 1420U);
}

}  // namespace
}  // namespace quasi::connection
