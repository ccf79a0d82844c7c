// Command receiver takes Ratchet's webhooks: it verifies each, acts once for each id, and answers.
//
//	WEBHOOK_SECRET=whsec_… go run . 127.0.0.1:9000 done.txt
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// done is a file with a line for each message that was acted on: its id, a space and its body. A shop
// stores the id in the transaction of its effect instead.
type done struct {
	mu   sync.Mutex
	file *os.File
	ids  map[string]bool
}

func open(name string) (*done, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	d := &done{file: file, ids: map[string]bool{}}

	for lines := bufio.NewScanner(file); lines.Scan(); {
		id, _, _ := strings.Cut(lines.Text(), " ")
		d.ids[id] = true
	}

	return d, nil
}

func (d *done) actOnce(id string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()

	if d.ids[id] {
		return nil
	}

	if _, err := fmt.Fprintf(d.file, "%s %s\n", id, body); err != nil {
		return err
	}

	// On disk before the answer: the sender does not send it again.
	if err := d.file.Sync(); err != nil {
		return err
	}
	d.ids[id] = true

	return nil
}

func main() {
	hook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}

	d, err := open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}

	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 256<<10))
		if err != nil || hook.Verify(body, r.Header) != nil {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}

		if err := d.actOnce(r.Header.Get("Webhook-Id"), body); err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})))
}
