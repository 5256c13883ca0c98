#include "connection/send_stream.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "connection/stream_test_util.h"

namespace quasi::connection {
namespace {

using testing::pattern;
using State = SendStream::State;

constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};

class SendStreamTest : public ::testing::Test {
 protected:
  BufferPool blocks_{limits::kStreamBlockSize, 64};
  SendStream stream_{blocks_};

  void SetUp() override { stream_.open(100'000, 50'000); }
  std::size_t write(std::size_t size) {
    return stream_.write(pattern(stream_.buffer().end_offset(), size));
  }
  DataChunk next(std::uint64_t max) { return stream_.next_chunk(max, kNoEnd); }
};

TEST_F(SendStreamTest, StatesUpToDataRecvd) {
  EXPECT_EQ(stream_.state(), State::ready);
  EXPECT_EQ(write(3000), 3000U);
  EXPECT_TRUE(stream_.wants_to_send());
  const DataChunk a = next(1000);
  EXPECT_EQ(stream_.state(), State::send);
  EXPECT_FALSE(a.fin);
  stream_.finish();
  EXPECT_FALSE(stream_.can_write());
  EXPECT_EQ(write(10), 0U);
  const DataChunk b = next(5000);
  EXPECT_TRUE(b.fin);
  EXPECT_EQ(b.size, 2000U);
  EXPECT_EQ(stream_.state(), State::data_sent);
  EXPECT_FALSE(stream_.wants_to_send());
  EXPECT_FALSE(stream_.wants_to_resend());
  stream_.on_acked(b.offset, b.size, b.fin);
  EXPECT_EQ(stream_.state(), State::data_sent);
  stream_.on_acked(a.offset, a.size, a.fin);
  EXPECT_EQ(stream_.state(), State::data_recvd);
  EXPECT_TRUE(stream_.is_terminal());
  EXPECT_EQ(blocks_.in_use(), 0U);
}

TEST_F(SendStreamTest, FinAloneNeedsNoCredit) {
  (void)write(1000);
  const DataChunk data = next(5000);
  stream_.finish();
  EXPECT_FALSE(stream_.wants_to_send());
  EXPECT_TRUE(stream_.wants_to_resend());
  const DataChunk fin = stream_.next_chunk(0, 0);
  EXPECT_TRUE(fin.fin);
  EXPECT_EQ(fin.size, 0U);
  EXPECT_EQ(fin.offset, 1000U);
  EXPECT_FALSE(stream_.wants_to_resend());
  EXPECT_FALSE(next(5000).fin);
  stream_.on_acked(data.offset, data.size, false);
  EXPECT_EQ(stream_.state(), State::data_sent);
  stream_.on_lost(fin.offset, 0, true);
  EXPECT_TRUE(stream_.wants_to_resend());
  const DataChunk again = next(100);
  EXPECT_TRUE(again.fin);
  stream_.on_acked(again.offset, 0, true);
  EXPECT_EQ(stream_.state(), State::data_recvd);
}

TEST_F(SendStreamTest, EmptyStream) {
  stream_.finish();
  EXPECT_TRUE(stream_.wants_to_resend());
  const DataChunk fin = next(100);
  EXPECT_TRUE(fin.fin);
  EXPECT_EQ(fin.offset + fin.size, 0U);
  stream_.on_acked(0, 0, true);
  EXPECT_EQ(stream_.state(), State::data_recvd);
}

TEST_F(SendStreamTest, LostTailCarriesTheFinAgain) {
  (void)write(2000);
  stream_.finish();
  const DataChunk a = next(1000);
  const DataChunk b = next(1000);
  ASSERT_TRUE(b.fin);
  stream_.on_lost(a.offset, a.size, a.fin);
  stream_.on_lost(b.offset, b.size, b.fin);
  EXPECT_FALSE(next(1500).fin);
  EXPECT_TRUE(next(1500).fin);
  EXPECT_FALSE(stream_.wants_to_resend());
  stream_.on_acked(b.offset, b.size, b.fin);  // it was only late
  stream_.on_lost(a.offset, 1500, false);
  const DataChunk c = next(5000);
  EXPECT_EQ(c.size, 1000U);  // the rest is acknowledged
  EXPECT_FALSE(c.fin);
  stream_.on_acked(c.offset, c.size, c.fin);
  EXPECT_EQ(stream_.state(), State::data_recvd);
}

TEST_F(SendStreamTest, StreamLimitHoldsAndIsReportedOnce) {
  stream_.open(1500, 50'000);
  (void)write(4000);
  EXPECT_EQ(next(1000).size, 1000U);
  EXPECT_FALSE(stream_.wants_blocked());
  EXPECT_EQ(next(1000).size, 500U);
  EXPECT_FALSE(stream_.wants_to_send());
  EXPECT_TRUE(stream_.wants_blocked());
  EXPECT_EQ(stream_.take_blocked(), 1500U);
  EXPECT_FALSE(stream_.wants_blocked());
  (void)write(10);
  EXPECT_FALSE(stream_.wants_blocked());
  stream_.on_blocked_lost(1500);
  EXPECT_TRUE(stream_.wants_blocked());
  stream_.on_max_stream_data(1400);  // lower: ignored
  EXPECT_FALSE(stream_.wants_to_send());
  stream_.on_max_stream_data(2000);
  EXPECT_FALSE(stream_.wants_blocked());
  EXPECT_EQ(next(1000).size, 500U);
  EXPECT_EQ(stream_.take_blocked(), 2000U);
}

TEST_F(SendStreamTest, ConnectionCreditBoundsFreshDataOnly) {
  (void)write(4000);
  const DataChunk a = stream_.next_chunk(1000, 300);
  EXPECT_EQ(a.size, 300U);
  EXPECT_EQ(stream_.next_size(7), 7U);
  stream_.on_lost(a.offset, a.size, false);
  EXPECT_EQ(stream_.next_size(0), 300U);
  EXPECT_EQ(stream_.next_chunk(1000, 0).size, 300U);
  EXPECT_EQ(stream_.next_chunk(1000, 0).size, 0U);
}

TEST_F(SendStreamTest, ShortWriteIsFollowedByWritable) {
  EXPECT_EQ(write(60'000), 50'000U);
  EXPECT_EQ(stream_.writable(), 0U);
  EXPECT_FALSE(stream_.take_writable());
  const DataChunk a = next(10'000);
  stream_.on_acked(a.offset, a.size, false);
  EXPECT_FALSE(stream_.take_writable());  // 9,216 bytes are no quarter
  for (int i = 0; i < 5; ++i) {
    const DataChunk c = next(10'000);
    stream_.on_acked(c.offset, c.size, false);
  }
  EXPECT_TRUE(stream_.take_writable());
  EXPECT_FALSE(stream_.take_writable());
  EXPECT_GT(stream_.writable(), 12'500U);
}

TEST_F(SendStreamTest, ResetTellsWhatWasSent) {
  (void)write(4000);
  (void)next(1000);
  EXPECT_TRUE(stream_.reset(77));
  EXPECT_FALSE(stream_.reset(78));
  EXPECT_EQ(stream_.state(), State::reset_sent);
  EXPECT_FALSE(stream_.wants_to_send());
  EXPECT_EQ(blocks_.in_use(), 0U);
  EXPECT_TRUE(stream_.wants_reset());
  const SendStream::Reset r = stream_.take_reset();
  EXPECT_EQ(r.error_code, 77U);
  EXPECT_EQ(r.final_size, 1000U);
  EXPECT_FALSE(stream_.wants_reset());
  stream_.on_lost(0, 1000, false);
  EXPECT_FALSE(stream_.wants_to_resend());
  stream_.on_reset_lost();
  EXPECT_TRUE(stream_.wants_reset());
  EXPECT_EQ(stream_.take_reset().final_size, 1000U);
  stream_.on_reset_acked();
  EXPECT_EQ(stream_.state(), State::reset_recvd);
  stream_.on_reset_lost();
  EXPECT_FALSE(stream_.wants_reset());
}

// twice, and after the end: one RESET_STREAM, or none.
TEST_F(SendStreamTest, StopSendingResetsOnce) {
  (void)write(4000);
  (void)next(1000);
  EXPECT_TRUE(stream_.on_stop_sending(5));
  EXPECT_FALSE(stream_.on_stop_sending(6));
  EXPECT_EQ(stream_.stop_code(), 5U);
  const SendStream::Reset r = stream_.take_reset();
  EXPECT_EQ(r.error_code, 5U);
  EXPECT_FALSE(stream_.on_stop_sending(5));
  EXPECT_FALSE(stream_.wants_reset());
}

TEST_F(SendStreamTest, StopSendingAfterAllIsAcknowledgedDoesNothing) {
  stream_.finish();
  (void)next(10);
  stream_.on_acked(0, 0, true);
  EXPECT_FALSE(stream_.on_stop_sending(5));
  EXPECT_FALSE(stream_.wants_reset());
  EXPECT_EQ(stream_.state(), State::data_recvd);
}

TEST_F(SendStreamTest, StopSendingAfterOwnResetIsNoNews) {
  EXPECT_TRUE(stream_.reset(1));
  EXPECT_FALSE(stream_.on_stop_sending(5));
  EXPECT_EQ(stream_.take_reset().error_code, 1U);
}

TEST_F(SendStreamTest, ReceiveOnlyStreamTakesNothing) {
  stream_.close();
  EXPECT_EQ(write(10), 0U);
  stream_.finish();
  EXPECT_FALSE(stream_.wants_to_resend());
  EXPECT_FALSE(stream_.reset(1));
  EXPECT_TRUE(stream_.is_terminal());
}

}  // namespace
}  // namespace quasi::connection
