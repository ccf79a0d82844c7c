package system

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// otlpReceiver takes traces, metrics and logs as OTLP over HTTP. It keeps the requests about each one
// behind the other, which is one request with the content of all: protobuf adds lists up.
type otlpReceiver struct {
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

	r := &otlpReceiver{payloads: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{signal}", r.take)
	mux.HandleFunc("GET /payload/{signal}", r.show)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}

	return s.Serve(listener)
}

func (r *otlpReceiver) take(w http.ResponseWriter, request *http.Request) {
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

func (r *otlpReceiver) show(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()

	_, _ = w.Write(r.payloads[request.PathValue("signal")])
}
