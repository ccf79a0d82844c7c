package deliveries

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"ratchet/notify/webhooks"
)

// ledger records the acts of the receiver, by the path of the endpoint.
type ledger struct {
	Effects map[string][]string // keys, in the order in which they took effect, once each
	Repeats int                 // verified messages whose effect was there already
	Refused int                 // messages without a valid signature
	Faults  int
}

// receiver acts once per message, and answers badly.
type receiver struct {
	keys *webhooks.Keys

	mu     sync.Mutex
	seen   map[string]bool // path and id
	ledger ledger
}

func receiverMain() error {
	secret, err := webhooks.ParseSecret(os.Getenv(envSecret))
	if err != nil {
		return err
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		return err
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())

	r := &receiver{keys: keys, seen: map[string]bool{}, ledger: ledger{Effects: map[string][]string{}}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}

	return server.Serve(listener)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		r.mu.Lock()
		defer r.mu.Unlock()

		_ = json.NewEncoder(w).Encode(r.ledger)

		return
	}

	message, err := r.keys.Read(request, 64<<10)
	if err != nil {
		r.mu.Lock()
		r.ledger.Refused++
		r.mu.Unlock()
		http.Error(w, "unauthorized", http.StatusUnauthorized)

		return
	}

	fault := rand.IntN(20)
	switch request.URL.Path {
	case "/hangs":
		fault = 4
	case "/good":
		fault = -1
	}

	switch fault {
	case 0: // fails before it acts
		r.fault()
		http.Error(w, "no", http.StatusInternalServerError)

		return
	case 1:
		r.fault()
		panic(http.ErrAbortHandler) // the connection is reset
	}
	r.act(request, message)

	switch fault {
	case 2: // acts, and says that it has not
		r.fault()
		http.Error(w, "no", http.StatusBadGateway)
	case 3:
		r.fault()
		panic(http.ErrAbortHandler)
	case 4: // acts, and does not answer in time
		r.fault()

		select {
		case <-request.Context().Done():
		case <-time.After(3 * attemptTimeout):
		}
	case 5: // the answer comes in drops
		w.WriteHeader(http.StatusOK)

		for range 3 {
			_, _ = w.Write([]byte("."))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (r *receiver) fault() {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.ledger.Faults++
}

// act takes the message's effect, unless it was taken before.
func (r *receiver) act(request *http.Request, m webhooks.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()

	path := request.URL.Path
	if r.seen[path+m.ID] {
		r.ledger.Repeats++
		return
	}
	r.seen[path+m.ID] = true
	r.ledger.Effects[path] = append(r.ledger.Effects[path], request.Header.Get("Idempotency-Key"))
}
