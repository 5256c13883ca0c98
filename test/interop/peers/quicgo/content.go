// Files below a folder, and /bytes/N, N deterministic bytes.
package main

import (
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"strings"
)

// pattern is what /bytes/N repeats: xorshift64 from the seed below, little-endian. Its length
// is prime, so that displaced data never look right.
func pattern() []byte {
	const length = 1048573
	state := uint64(0x9e3779b97f4a7c15)
	block := make([]byte, 0, length+8)
	for len(block) < length {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		block = binary.LittleEndian.AppendUint64(block, state)
	}
	return block[:length]
}

// repeated reads a block over and over.
type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(into []byte) (int, error) {
	n := copy(into, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

type content struct {
	root  *os.Root // may be nil
	block []byte
}

// open returns what has that path, or nil when there is no such thing.
func (c *content) open(path string) io.ReadCloser {
	if text, found := strings.CutPrefix(path, "/bytes/"); found {
		length, err := strconv.ParseInt(text, 10, 64)
		if err != nil || length < 0 {
			return nil
		}
		return io.NopCloser(io.LimitReader(&repeated{block: c.block}, length))
	}
	if c.root == nil {
		return nil
	}
	file, err := c.root.Open(strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil
	}
	return file
}
