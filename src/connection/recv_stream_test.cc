#include "connection/recv_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/limits.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using testing::make_packet;
using testing::Packet;
using State = RecvStream::State;
using Code = TransportErrorCode;

class RecvStreamTest : public ::testing::Test {
 protected:
  BufferPool slots_{2048, 64};
  BufferPool blocks_{limits::kStreamBlockSize, 64};
  RecvAccount account_;
  RecvStream stream_{blocks_, account_};

  void SetUp() override { stream_.open(10'000, 40'000); }

  Result<RecvStream::Outcome> receive(std::uint64_t offset, std::size_t size, bool fin) {
    const auto growth = stream_.check_stream(offset, size, fin, 0x0e);
    if (!growth) return std::unexpected(growth.error());
    const Packet p = make_packet(slots_, offset, size);
    return stream_.on_stream(offset, p.data, fin, p.block);
  }
  Result<RecvStream::Outcome> reset(std::uint64_t code, std::uint64_t final_size) {
    const auto growth = stream_.check_reset(final_size);
    if (!growth) return std::unexpected(growth.error());
    return stream_.on_reset(code, final_size);
  }
  static void expect_error(const Result<RecvStream::Outcome>& r, Code code, std::uint64_t type) {
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().code, code);
    EXPECT_EQ(r.error().frame_type, type);
  }
};

TEST_F(RecvStreamTest, StatesUpToDataRead) {
  auto r = receive(1000, 500, true);
  EXPECT_FALSE(r->readable);
  EXPECT_EQ(stream_.state(), State::size_known);
  EXPECT_EQ(stream_.final_size(), 1500U);
  r = receive(0, 1000, false);
  EXPECT_TRUE(r->readable);
  EXPECT_EQ(stream_.state(), State::data_recvd);
  EXPECT_EQ(stream_.consume(1000), 1000U);
  EXPECT_FALSE(stream_.is_finished());
  EXPECT_EQ(stream_.consume(9000), 500U);
  EXPECT_EQ(stream_.state(), State::data_read);
  EXPECT_TRUE(stream_.is_finished());
}

TEST_F(RecvStreamTest, FinAloneIsReadable) {
  EXPECT_TRUE(receive(0, 100, false)->readable);
  EXPECT_EQ(stream_.consume(100), 100U);
  EXPECT_FALSE(receive(0, 100, false)->readable);
  EXPECT_TRUE(receive(100, 0, true)->readable);
  EXPECT_TRUE(stream_.is_finished());
  EXPECT_FALSE(receive(100, 0, true)->readable);
}

TEST_F(RecvStreamTest, GrowthIsWhatTheConnectionIsCharged) {
  EXPECT_EQ(stream_.check_stream(1000, 500, false, 8).value(), 1500U);
  ASSERT_TRUE(receive(1000, 500, false).has_value());
  EXPECT_EQ(stream_.check_stream(0, 1000, false, 8).value(), 0U);
  EXPECT_EQ(stream_.check_stream(1400, 200, false, 8).value(), 100U);
  EXPECT_EQ(stream_.check_reset(2000).value(), 500U);
}

TEST_F(RecvStreamTest, LimitIsEnforced) {
  EXPECT_TRUE(receive(8800, 1200, false).has_value());
  expect_error(receive(9999, 2, false), Code::flow_control_error, 0x0e);
  expect_error(receive(10'001, 0, true), Code::flow_control_error, 0x0e);
}

//
TEST_F(RecvStreamTest, OffsetsNearTheEndOfTheRange) {
  expect_error(receive(limits::kMaxVarint, 1, false), Code::frame_encoding_error, 0x0e);
  expect_error(receive(limits::kMaxVarint - 1, 1, false), Code::flow_control_error, 0x0e);
  expect_error(receive(~std::uint64_t{0}, 1, false), Code::frame_encoding_error, 0x0e);
  EXPECT_EQ(blocks_.in_use(), 0U);
}

//
TEST_F(RecvStreamTest, ResetWithHugeFinalSize) {
  expect_error(reset(0, limits::kMaxVarint), Code::flow_control_error, 0x04);
}

//
TEST_F(RecvStreamTest, FinalSizeNeverChanges) {
  ASSERT_TRUE(receive(0, 10, true).has_value());
  expect_error(reset(0, 9), Code::final_size_error, 0x04);
  expect_error(reset(0, 11), Code::final_size_error, 0x04);
  expect_error(receive(10, 1, false), Code::final_size_error, 0x0e);
  expect_error(receive(0, 9, true), Code::final_size_error, 0x0e);
  EXPECT_TRUE(receive(0, 10, true).has_value());
}

TEST_F(RecvStreamTest, FinalSizeBelowReceivedData) {
  ASSERT_TRUE(receive(500, 500, false).has_value());
  expect_error(receive(0, 999, true), Code::final_size_error, 0x0e);
  expect_error(reset(0, 999), Code::final_size_error, 0x04);
}

TEST_F(RecvStreamTest, ResetTwiceWithDifferentSizes) {
  ASSERT_TRUE(receive(0, 10, false).has_value());
  EXPECT_TRUE(reset(3, 100)->reset);
  expect_error(reset(3, 101), Code::final_size_error, 0x04);
  EXPECT_FALSE(reset(4, 100)->reset);
  EXPECT_EQ(stream_.reset_code(), 3U);
  expect_error(receive(100, 1, false), Code::final_size_error, 0x0e);
  EXPECT_TRUE(receive(50, 50, true).has_value());
}

TEST_F(RecvStreamTest, ResetDropsDataAndCreditsIt) {
  ASSERT_TRUE(receive(0, 1000, false).has_value());
  ASSERT_TRUE(receive(2000, 1000, false).has_value());
  EXPECT_EQ(stream_.consume(300), 300U);
  const auto r = reset(9, 5000);
  EXPECT_EQ(r->discarded, 4700U);
  EXPECT_EQ(stream_.readable_size(), 0U);
  EXPECT_EQ(account_.buffered(), 0U);
  EXPECT_EQ(slots_.in_use(), 0U);
  EXPECT_EQ(stream_.state(), State::reset_recvd);
  stream_.on_reset_reported();
  EXPECT_TRUE(stream_.is_terminal());
  EXPECT_FALSE(stream_.is_finished());
}

TEST_F(RecvStreamTest, ResetAfterAllDataIsIgnored) {
  ASSERT_TRUE(receive(0, 100, true).has_value());
  const auto r = reset(9, 100);
  EXPECT_FALSE(r->reset);
  EXPECT_EQ(r->discarded, 0U);
  EXPECT_EQ(stream_.readable_size(), 100U);
}

TEST_F(RecvStreamTest, StopSendingDiscardsNowAndLater) {
  ASSERT_TRUE(receive(0, 1000, false).has_value());
  ASSERT_TRUE(receive(3000, 1000, false).has_value());
  EXPECT_EQ(stream_.consume(200), 200U);
  EXPECT_EQ(stream_.stop_sending(12), 3800U);
  EXPECT_EQ(stream_.stop_sending(13), 0U);
  EXPECT_EQ(slots_.in_use(), 0U);
  EXPECT_TRUE(stream_.wants_stop_sending());
  EXPECT_EQ(stream_.take_stop_sending(), 12U);
  EXPECT_FALSE(stream_.wants_stop_sending());
  stream_.on_stop_sending_lost();
  EXPECT_TRUE(stream_.wants_stop_sending());
  auto r = receive(1000, 2000, false);
  EXPECT_EQ(r->discarded, 0U);
  EXPECT_FALSE(r->readable);
  r = receive(4000, 500, false);
  EXPECT_EQ(r->discarded, 500U);
  EXPECT_FALSE(stream_.wants_max_stream_data());
  const auto last = reset(12, 6000);
  EXPECT_EQ(last->discarded, 1500U);
  EXPECT_FALSE(last->reset);
  EXPECT_FALSE(stream_.wants_stop_sending());
  EXPECT_TRUE(stream_.is_terminal());
  EXPECT_FALSE(stream_.is_finished());
}

TEST_F(RecvStreamTest, StopSendingEndsWithFin) {
  ASSERT_TRUE(receive(0, 1000, false).has_value());
  EXPECT_EQ(stream_.stop_sending(12), 1000U);
  const auto r = receive(2000, 500, true);
  EXPECT_EQ(r->discarded, 1500U);
  EXPECT_TRUE(stream_.is_terminal());
  EXPECT_FALSE(stream_.wants_stop_sending());
}

TEST_F(RecvStreamTest, StopSendingIsPointlessOnceTheEndIsKnown) {
  ASSERT_TRUE(receive(500, 500, true).has_value());
  EXPECT_EQ(stream_.stop_sending(12), 1000U);
  EXPECT_FALSE(stream_.wants_stop_sending());
  EXPECT_TRUE(stream_.is_terminal());
  EXPECT_FALSE(stream_.is_finished());
}

TEST_F(RecvStreamTest, MaxStreamDataFollowsConsumption) {
  ASSERT_TRUE(receive(0, 2000, false).has_value());
  ASSERT_TRUE(receive(2000, 2000, false).has_value());
  ASSERT_TRUE(receive(4000, 2000, false).has_value());
  EXPECT_FALSE(stream_.wants_max_stream_data());
  EXPECT_EQ(stream_.consume(5000), 5000U);
  EXPECT_TRUE(stream_.wants_max_stream_data());
  EXPECT_EQ(stream_.take_max_stream_data(Instant(), Duration()), 15'000U);
  EXPECT_FALSE(stream_.wants_max_stream_data());
  stream_.on_max_stream_data_lost(15'000);
  EXPECT_TRUE(stream_.wants_max_stream_data());
  // RFC 9000 §4.2: pointless once the end is known.
  ASSERT_TRUE(receive(6000, 1, true).has_value());
  EXPECT_FALSE(stream_.wants_max_stream_data());
}

TEST_F(RecvStreamTest, ReusedStreamBeginsAnew) {
  ASSERT_TRUE(receive(0, 1000, true).has_value());
  (void)stream_.stop_sending(1);
  stream_.close();
  stream_.open(500, 500);
  EXPECT_EQ(stream_.state(), State::recv);
  expect_error(receive(0, 501, false), Code::flow_control_error, 0x0e);
  EXPECT_TRUE(receive(0, 500, false)->readable);
  EXPECT_FALSE(stream_.wants_stop_sending());
}

}  // namespace
}  // namespace quasi::connection
