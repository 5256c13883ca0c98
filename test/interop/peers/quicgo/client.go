package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

// list is an option that may be given many times.
type list []string

func (l *list) String() string         { return strings.Join(*l, ",") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }
func (l list) at(index int) string {
	if index < len(l) {
		return l[index]
	}
	return ""
}

type fetched struct {
	bytes int64
	line  string
	err   error
}

func fetchAll(ctx context.Context, arguments []string) error {
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	var outputs list
	flags.Var(&outputs, "output", "")
	ca := flags.String("ca", "", "")
	insecure := flags.Bool("insecure", false, "")
	digest := flags.Bool("sha256", false, "")
	smallMTU := flags.Bool("small-mtu", false, "")
	maxSeconds := flags.Float64("max-seconds", 60, "")
	// The flag package stops at the first URL: URLs may come first.
	var urls []*url.URL
	for len(arguments) > 0 && strings.HasPrefix(arguments[0], "https://") {
		parsed, err := url.Parse(arguments[0])
		if err != nil {
			return err
		}
		urls = append(urls, parsed)
		arguments = arguments[1:]
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if len(urls) == 0 || flags.NArg() > 0 {
		return errors.New("URLs are needed, before the options")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*maxSeconds*float64(time.Second)))
	defer cancel()

	remote, err := net.ResolveUDPAddr("udp", urls[0].Host)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if *ca != "" {
		pem, err := os.ReadFile(*ca)
		if err != nil {
			return err
		}
		roots.AppendCertsFromPEM(pem)
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return err
	}
	_ = socket.SetReadBuffer(socketBuffer)
	transport := quic.Transport{Conn: socket}
	started := time.Now()
	connection, err := transport.Dial(ctx, remote, &tls.Config{
		NextProtos:         []string{alpn},
		RootCAs:            roots,
		InsecureSkipVerify: *insecure,
		ServerName:         urls[0].Hostname(),
		MinVersion:         tls.VersionTLS13,
	}, config(*smallMTU))
	if err != nil {
		return err
	}
	results := make(chan fetched)
	for i, u := range urls {
		stream, err := connection.OpenStreamSync(ctx)
		if err != nil {
			return err
		}
		go func() { results <- fetch(stream, u.Path, outputs.at(i), *digest) }()
	}
	var total int64
	for range urls {
		result := <-results
		if result.err != nil {
			return result.err
		}
		total += result.bytes
		fmt.Println(result.line)
	}
	seconds := time.Since(started).Seconds()
	fmt.Printf("RESULT bytes=%d secs=%.4f mbps=%.1f cpu_ms_per_gib=%.1f suite=%#x\n", total, seconds,
		float64(total)*8e-6/seconds, cpuSeconds()*1e3/(float64(total)/(1<<30)),
		connection.ConnectionState().TLS.CipherSuite)
	if err := connection.CloseWithError(0, ""); err != nil {
		return err
	}
	return transport.Close()
}

func fetch(stream *quic.Stream, path, output string, digest bool) fetched {
	failed := func(err error) fetched { return fetched{err: fmt.Errorf("%s: %w", path, err)} }
	if _, err := fmt.Fprintf(stream, "GET %s\r\n", path); err != nil {
		return failed(err)
	}
	if err := stream.Close(); err != nil {
		return failed(err)
	}
	var file *os.File
	var sum hash.Hash
	if digest {
		sum = sha256.New()
	}
	var bytes int64
	buffer := make([]byte, 256<<10)
	for {
		n, readErr := stream.Read(buffer)
		bytes += int64(n)
		if sum != nil {
			sum.Write(buffer[:n])
		}
		ended := errors.Is(readErr, io.EOF)
		// Made when there is something to write: a refused path leaves no file.
		if output != "" && file == nil && (n > 0 || ended) {
			var err error
			if file, err = os.Create(output); err != nil {
				return failed(err)
			}
			defer file.Close()
		}
		if file != nil {
			if _, err := file.Write(buffer[:n]); err != nil {
				return failed(err)
			}
		}
		if ended {
			break
		}
		if readErr != nil {
			return failed(readErr)
		}
	}
	line := fmt.Sprintf("FILE %s bytes=%d", path, bytes)
	if sum != nil {
		line += fmt.Sprintf(" sha256=%x", sum.Sum(nil))
	}
	return fetched{bytes: bytes, line: line}
}
