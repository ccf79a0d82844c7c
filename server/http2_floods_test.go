package server_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/server"
)

// Frames of HTTP/2 (RFC 9113, section 6), and the flags that the floods need.
const (
	frameHeaders, frameReset, frameSettings, framePing, frameContinuation = 1, 3, 4, 6, 9
	endStream, endHeaders                                                 = 1, 4
)

// frame returns a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)

	return string(binary.BigEndian.AppendUint32(head, stream)) + payload
}

// request is the block of headers of a GET, without a table: RFC 7541, section 6.2.2.
func request(path string) string {
	return "\x82\x87\x04" + string(rune(len(path))) + path + "\x01\x09localhost"
}

// TestFloodsOfHTTP2: a client that resets what it begins, sends endless headers, asks for answers that it does not read, or
// opens no window, is bounded by the HTTP/2 of the standard library and the listener. Others are answered meanwhile, and
// nothing is left.
func TestFloodsOfHTTP2(t *testing.T) {
	cert, key, trusts := certificate(t, t.TempDir())
	_, address, stop := serving(t, server.Config{API: server.APIConfig{TLSCert: cert, TLSKey: key, Issuer: "us", Audience: "ratchet"}}, true)

	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusts, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}}
	ask := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := fetch(t, client, r)

		return status
	}

	if status := ask(); status != http.StatusOK {
		t.Fatalf("before: %d", status)
	}
	before := liveHeap()

	for name, flood := range map[string]func(n uint32) string{
		"rapid reset": func(n uint32) string {
			return frame(frameHeaders, endStream|endHeaders, 2*n+1, request("/healthz")) + frame(frameReset, 0, 2*n+1, "\x00\x00\x00\x08")
		},
		"CONTINUATION": func(n uint32) string {
			if n == 0 {
				return frame(frameHeaders, endStream, 1, request("/healthz"))
			}

			return frame(frameContinuation, 0, 1, "\x00\x01a\x7f\x80\x01"+strings.Repeat("x", 255))
		},
		"PING":     func(uint32) string { return frame(framePing, 0, 0, "01234567") },
		"SETTINGS": func(uint32) string { return frame(frameSettings, 0, 0, "") },
		"zero windows": func(n uint32) string {
			if n == 0 {
				return frame(frameSettings, 0, 0, "\x00\x04\x00\x00\x00\x00")
			}

			return frame(frameHeaders, endStream|endHeaders, 2*n+1, request("/openapi.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var floods sync.WaitGroup
			for range 4 {
				floods.Go(func() { floodOver(t, address, flood) })
			}

			for range 20 {
				if status := ask(); status != http.StatusOK {
					t.Errorf("another caller meanwhile: %d", status)
				}
			}
			floods.Wait()

			if after := liveHeap(); after > before+64<<20 {
				t.Errorf("%d MB are in use after the flood, %d MB before", after>>20, before>>20)
			}
		})
	}
	client.CloseIdleConnections()

	if err := stop(); err != nil {
		t.Error(err)
	}
}

// floodOver sends frames over one connection until the server ends it, or a number of them. It reads no answer.
func floodOver(t *testing.T, address string, next func(n uint32) string) {
	t.Helper()

	const frames, patience = 10_000, 5 * time.Second

	d := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}

	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()

	// A server that reads no further has bounded the flood, too.
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	batch := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(frameSettings, 0, 0, "")

	for n := range uint32(frames) {
		if batch += next(n); len(batch) < 16<<10 && n < frames-1 {
			continue
		}

		if _, err := io.WriteString(conn, batch); err != nil {
			return
		}
		batch = ""
	}
}

// liveHeap returns how many bytes are in use on the heap.
func liveHeap() uint64 {
	debug.FreeOSMemory()

	var m runtime.MemStats
	runtime.ReadMemStats(&m)

	return m.HeapAlloc
}
