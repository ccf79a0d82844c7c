// Package tracing holds what processes of Ratchet export over OTLP, traces, metrics and logs: `ratchet
// serve` and `ratchet worker` send them to a receiver. All three are processes of their own, made of
// this test's binary.
package tracing

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/cmd/cli"
	"ratchet/server"
)

const envRole = "TRACING_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "ratchet":
		cli.Main(server.Parts{})
	case "receiver":
		fmt.Fprintln(os.Stderr, receive())
		os.Exit(1)
	default:
		goleak.VerifyTestMain(m)
	}
}

// receiver takes traces, metrics and logs as OTLP over HTTP. It keeps the requests about each one
// behind the other, which is one request with the content of all: protobuf adds lists up.
type receiver struct {
	mu       sync.Mutex
	payloads map[string][]byte
}

// receive prints where the receiver listens, and serves.
func receive() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())

	r := &receiver{payloads: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{signal}", r.take)
	mux.HandleFunc("GET /payload/{signal}", r.show)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}

	return s.Serve(listener)
}

func (r *receiver) take(w http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "not protobuf", http.StatusUnsupportedMediaType)
		return
	}

	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	signal := request.PathValue("signal")
	r.payloads[signal] = append(r.payloads[signal], body...)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receiver) show(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()

	_, _ = w.Write(r.payloads[request.PathValue("signal")])
}
