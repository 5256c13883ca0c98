package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const maxRequest = 8192

func serve(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	listen := flags.String("listen", "", "")
	cert := flags.String("cert", "", "")
	key := flags.String("key", "", "")
	dir := flags.String("dir", "", "")
	retry := flags.Bool("retry", false, "")
	smallMTU := flags.Bool("small-mtu", false, "")
	maxConnections := flags.Int("max-connections", 1<<30, "")
	maxSeconds := flags.Float64("max-seconds", 60, "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*maxSeconds*float64(time.Second)))
	defer cancel()

	certificate, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return err
	}
	files := &content{block: pattern()}
	if *dir != "" {
		if files.root, err = os.OpenRoot(*dir); err != nil {
			return err
		}
	}
	address, err := net.ResolveUDPAddr("udp", *listen)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return err
	}
	_ = socket.SetReadBuffer(socketBuffer)
	transport := quic.Transport{Conn: socket}
	if *retry {
		transport.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	listener, err := transport.Listen(&tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{alpn},
		MinVersion:   tls.VersionTLS13,
	}, config(*smallMTU))
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", listener.Addr())

	var connections sync.WaitGroup
	for range *maxConnections {
		connection, err := listener.Accept(ctx)
		if err != nil {
			return fmt.Errorf("not done after %g s: %w", *maxSeconds, err)
		}
		connections.Go(func() {
			for {
				stream, err := connection.AcceptStream(ctx)
				if err != nil {
					return
				}
				go answer(stream, files)
			}
		})
	}
	connections.Wait()
	return transport.Close()
}

func answer(stream *quic.Stream, files *content) {
	request, err := io.ReadAll(io.LimitReader(stream, maxRequest))
	if err != nil {
		return
	}
	path, found := strings.CutPrefix(strings.TrimRight(string(request), "\r\n"), "GET ")
	var body io.ReadCloser
	if found {
		body = files.open(path)
	}
	if body == nil {
		stream.CancelWrite(notFound)
		return
	}
	defer body.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if _, writeErr := stream.Write(buffer[:n]); writeErr != nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			stream.Close()
			return
		}
		if err != nil {
			stream.CancelWrite(notFound)
			return
		}
	}
}
