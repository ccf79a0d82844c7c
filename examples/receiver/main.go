// Command receiver takes Ratchet's notifications and acts once for each. Start it beside
// `ratchet dev`:
//
//	export RECEIVER_SECRET=whsec_…        # of `ratchet endpoints create`
//	go run ./examples/receiver -listen 127.0.0.1:9000 -ledger orders.ledger
//	ratchet endpoints create mine http://127.0.0.1:9000/ --ordered
//
// It verifies the signature over the raw body, writes the effect to its ledger before it answers
// with 2xx, and recognizes a repeat by the id, also after a restart.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"ratchet/notify/webhooks"
)

const maxBody = 256 << 10 // bytes

// ledger is a file with one line per effect: the id of the message and its body. A line is on
// disk before the message is answered.
type ledger struct {
	mu   sync.Mutex
	file *os.File
	done map[string]bool // ids
}

func openLedger(name string) (*ledger, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	l := &ledger{file: file, done: map[string]bool{}}

	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a crash cut off a line without an end; its message was not answered
		}

		if id, _, ok := strings.Cut(line, " "); ok {
			l.done[id] = true
		}
	}

	return l, nil
}

// actOnce carries out the effect of a message, and reports false if it was carried out before. A
// real receiver stores the id in the transaction of its effect.
func (l *ledger) actOnce(id string, body []byte) (bool, error) {
	// One message at a time, so two deliveries of one id cannot both find it missing.
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.done[id] {
		return false, nil
	}

	// The line feed at the front ends a line that a crash cut off. A body with line feeds must stay
	// one line.
	line := fmt.Sprintf("\n%s %s\n", id, strings.ReplaceAll(string(body), "\n", " "))
	if _, err := l.file.WriteString(line); err != nil {
		return false, err
	}

	// Answered only when the line is on disk: after a power failure the sender would not send it
	// again.
	if err := l.file.Sync(); err != nil {
		return false, err
	}
	l.done[id] = true

	return true, nil
}

// effects returns the number of messages whose effect was carried out.
func (l *ledger) effects() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return len(l.done)
}

// handler answers 401 to an unsigned message, 2xx after the effect, and 500 if the effect failed,
// so that the message comes again.
func handler(keys *webhooks.Keys, l *ledger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := keys.Read(r, maxBody)
		if err != nil {
			http.Error(w, "unauthorized", http.StatusUnauthorized) // the same for every reason
			return
		}

		acted, err := l.actOnce(message.ID, message.Body)
		if err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}

		if acted {
			fmt.Printf("%s %s\n", message.ID, message.Body)
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// run serves until ctx ends, or the ledger has limit effects; 0: no limit.
func run(ctx context.Context, listen, file, secrets string, limit int) error {
	var all []webhooks.Secret
	for text := range strings.FieldsSeq(secrets) { // two during a rotation
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			return fmt.Errorf("RECEIVER_SECRET: %w", err)
		}
		all = append(all, secret)
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: all})
	if err != nil {
		return fmt.Errorf("RECEIVER_SECRET: %w", err)
	}

	l, err := openLedger(file)
	if err != nil {
		return err
	}
	defer l.file.Close()

	ctx, end := context.WithCancel(ctx)
	defer end()

	take := handler(keys, l)
	server := &http.Server{
		Addr: listen,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			take.ServeHTTP(w, r)

			if limit > 0 && l.effects() >= limit {
				end() // Shutdown waits for the answer to this message
			}
		}),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
	}

	down := make(chan error, 1)
	// ctx has ended by then, and would end the Shutdown at once.
	stop := context.AfterFunc(ctx, func() { down <- server.Shutdown(context.WithoutCancel(ctx)) })
	defer stop()

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	// ListenAndServe returns at once; the messages under way are answered before the process ends.
	return <-down
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "address to listen on")
	file := flag.String("ledger", "orders.ledger", "file with what was done")
	limit := flag.Int("n", 0, "end when the ledger has this many; 0: go on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, *listen, *file, os.Getenv("RECEIVER_SECRET"), *limit); err != nil {
		fmt.Fprintln(os.Stderr, "receiver:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}
