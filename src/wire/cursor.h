// Bounded readers and writers over one span, in either direction (wire/varint.h).
// The Forward ones go from the span's first byte to the right; the Reverse ones
// from its last byte to the left. So one serializer, written once in v1's field
// order, gives both wire images. Byte strings are never reversed. Both fail
// softly: a read that does not fit returns false and moves nothing; a write that
// does not fit writes nothing and makes ok() false until rewind().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quasi/bytes.h"
#include "wire/varint.h"

namespace quasi::wire {

template <class Direction>
class Reader {
 public:
  explicit Reader(Bytes input)
      : begin_(input.data()), end_(input.data() + input.size()), size_(input.size()) {}

  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - begin_); }
  [[nodiscard]] bool at_end() const { return begin_ == end_; }
  /// Bytes read so far.
  [[nodiscard]] std::size_t consumed() const { return size_ - remaining(); }
  /// What has not been read yet.
  [[nodiscard]] Bytes rest() const { return {begin_, remaining()}; }

  [[nodiscard]] bool varint(std::uint64_t& value) {
    const std::size_t size = Direction::decode(begin_, end_, value);
    advance(size);
    return size != 0;
  }
  [[nodiscard]] bool u8(std::uint8_t& value) {
    if (at_end()) [[unlikely]]
      return false;
    value = Direction::kReversed ? end_[-1] : *begin_;
    advance(1);
    return true;
  }
  /// Big-endian integers; only headers and transport parameters have them.
  [[nodiscard]] bool u16(std::uint16_t& value) { return fixed(value); }
  [[nodiscard]] bool u32(std::uint32_t& value) { return fixed(value); }

  /// A view of the next `size` bytes, in memory order.
  [[nodiscard]] bool bytes(std::uint64_t size, Bytes& view) {
    if (size > remaining()) [[unlikely]]
      return false;
    const auto n = static_cast<std::size_t>(size);
    view = {Direction::kReversed ? end_ - n : begin_, n};
    advance(n);
    return true;
  }
  [[nodiscard]] bool skip(std::uint64_t size) {
    Bytes ignored;
    return bytes(size, ignored);
  }
  /// A byte string preceded by its length as a varint.
  [[nodiscard]] bool counted_bytes(Bytes& view) {
    const Reader start = *this;
    std::uint64_t size = 0;
    if (varint(size) && bytes(size, view)) [[likely]]
      return true;
    *this = start;
    return false;
  }
  /// Everything left.
  [[nodiscard]] Bytes take_rest() {
    const Bytes view = rest();
    advance(view.size());
    return view;
  }
  /// Skips the run of `byte` that comes next and returns its length.
  [[nodiscard]] std::size_t skip_run(std::uint8_t byte) {
    const std::size_t before = remaining();
    const std::uint64_t pattern = byte * std::uint64_t{0x0101'0101'0101'0101};
    while (remaining() >= 8 &&
           load_le<std::uint64_t>(Direction::kReversed ? end_ - 8 : begin_) == pattern) {
      advance(8);
    }
    while (!at_end() && (Direction::kReversed ? end_[-1] : *begin_) == byte) advance(1);
    return before - remaining();
  }

 private:
  template <class T>
  [[nodiscard]] bool fixed(T& value) {
    if (remaining() < sizeof(T)) [[unlikely]]
      return false;
    value = load_be<T>(Direction::kReversed ? end_ - sizeof(T) : begin_);
    advance(sizeof(T));
    return true;
  }
  void advance(std::size_t n) {
    if constexpr (Direction::kReversed) {
      end_ -= n;
    } else {
      begin_ += n;
    }
  }

  const std::uint8_t* begin_;
  const std::uint8_t* end_;
  std::size_t size_;
};

template <class Direction>
class Writer {
 public:
  /// Writes into `room` and never outside it.
  explicit Writer(MutableBytes room)
      : begin_(room.data()),
        end_(room.data() + room.size()),
        position_(Direction::kReversed ? end_ : begin_) {}

  /// False once something did not fit.
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t remaining() const {
    return static_cast<std::size_t>(Direction::kReversed ? position_ - begin_ : end_ - position_);
  }
  [[nodiscard]] std::size_t written() const {
    return static_cast<std::size_t>(Direction::kReversed ? end_ - position_ : position_ - begin_);
  }
  /// What was written, in memory order.
  [[nodiscard]] MutableBytes output() const {
    return {Direction::kReversed ? position_ : begin_, written()};
  }
  /// Where the next byte goes: to the right of this pointer (Forward) or to the
  /// left of it (Reverse).
  [[nodiscard]] std::uint8_t* position() const { return position_; }

  struct Mark {
    std::uint8_t* position;
    bool ok;
  };
  [[nodiscard]] Mark mark() const { return {position_, ok_}; }
  /// Takes back everything since `mark`.
  void rewind(Mark mark) {
    position_ = mark.position;
    ok_ = mark.ok;
  }

  /// `n` bytes for the caller to fill; empty and ok() false when they do not fit.
  MutableBytes reserve(std::size_t n) {
    std::uint8_t* place = take(n);
    return place == nullptr ? MutableBytes() : MutableBytes(place, n);
  }
  void u8(std::uint8_t value) {
    if (std::uint8_t* place = take(1)) *place = value;
  }
  void u16(std::uint16_t value) {
    if (std::uint8_t* place = take(2)) store_be(place, value);
  }
  void u32(std::uint32_t value) {
    if (std::uint8_t* place = take(4)) store_be(place, value);
  }
  void varint(std::uint64_t value) {
    if (value > kMaxVarint) [[unlikely]] {
      ok_ = false;
      return;
    }
    sized_varint(value, varint_size(value));
  }
  /// A varint in exactly `size` (1, 2, 4 or 8) bytes.
  void sized_varint(std::uint64_t value, std::size_t size) {
    if (value > kMaxVarint || varint_size(value) > size) [[unlikely]] {
      ok_ = false;
      return;
    }
    if (std::uint8_t* place = take(size)) Direction::encode(place, value, size);
  }
  void bytes(Bytes data) {
    if (data.empty()) return;
    if (std::uint8_t* place = take(data.size())) std::memcpy(place, data.data(), data.size());
  }
  void counted_bytes(Bytes data) {
    varint(data.size());
    bytes(data);
  }
  /// `n` bytes of zero: PADDING frames.
  void zeros(std::size_t n) {
    if (n == 0) return;
    if (std::uint8_t* place = take(n)) std::memset(place, 0, n);
  }

 private:
  [[nodiscard]] std::uint8_t* take(std::size_t n) {
    if (!ok_ || n > remaining()) [[unlikely]] {
      ok_ = false;
      return nullptr;
    }
    if constexpr (Direction::kReversed) {
      position_ -= n;
      return position_;
    } else {
      std::uint8_t* place = position_;
      position_ += n;
      return place;
    }
  }

  std::uint8_t* begin_;
  std::uint8_t* end_;
  std::uint8_t* position_;
  bool ok_ = true;
};

}  // namespace quasi::wire
