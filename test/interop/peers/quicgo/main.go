// quic-go as an independent server and client over HTTP/0.9 (ALPN hq-interop):
//
//	quicgo-peer server --listen ADDR:PORT --cert PEM --key PEM [--dir DIR] [--retry]
//	                   [--small-mtu] [--max-connections N] [--max-seconds S]
//	quicgo-peer client URL... [--output FILE]... (--ca PEM | --insecure) [--sha256]
//	                   [--small-mtu] [--max-seconds S]
//
// Go's TLS offers all three suites of TLS 1.3 and cannot be told otherwise: the other side
// decides which one is used. quic-go updates its keys by itself after 100 packets.
package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	alpn         = "hq-interop"
	notFound     = 404 // application error code of a stream whose file does not exist
	socketBuffer = 8 << 20
)

// config is how both sides use quic-go: as it is, but for what the tests need.
func config(smallMTU bool) *quic.Config {
	c := &quic.Config{MaxIdleTimeout: 20 * time.Second, MaxIncomingStreams: 1000}
	if smallMTU {
		c.InitialPacketSize = 1200
		c.DisablePathMTUDiscovery = true
	}
	return c
}

// cpuSeconds is the CPU time of this process, user and system.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)*1e-6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func main() {
	commands := map[string]func(context.Context, []string) error{"server": serve, "client": fetchAll}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "quicgo-peer: the command is server or client")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](context.Background(), os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "quicgo-peer %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
