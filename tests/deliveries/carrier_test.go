package deliveries

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"ratchet/notify/webhooks"
	"ratchet/shipping"
)

// carrierLedger counts the acts of the carrier.
type carrierLedger struct {
	Booked  map[string]int // shipments by key: how often a parcel was made
	Faults  int            // bad answers
	Forged  int            // reports that were sent with another secret
	Refused int            // and the refused ones
	Open    int            // reports that no worker has taken yet
}

// carrier moves parcels once per key, answers badly, and reports out of order, twice, and sometimes
// with a forged signature.
type carrier struct {
	shippers       []string // URLs for reports
	signer, forger *webhooks.Client
	queue          chan shipping.Report

	mu      sync.Mutex
	reached map[string]shipping.Milestone
	ledger  carrierLedger
}

// reporters send the carrier's reports.
const reporters = 8

func carrierMain() error {
	secret, err := webhooks.ParseSecret(os.Getenv(envSecret))
	if err != nil {
		return err
	}

	c := &carrier{
		shippers: strings.Split(os.Getenv(envShippers), ","),
		queue:    make(chan shipping.Report, 1<<16),
		reached:  map[string]shipping.Milestone{},
		ledger:   carrierLedger{Booked: map[string]int{}},
	}

	for client, secret := range map[**webhooks.Client]webhooks.Secret{&c.signer: secret, &c.forger: webhooks.NewSecret()} {
		keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
		if err != nil {
			return err
		}

		if *client, err = webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback}); err != nil {
			return err
		}
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())

	for range reporters {
		go c.report()
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()

		_ = json.NewEncoder(w).Encode(c.ledger)
	})
	mux.HandleFunc("PUT /shipments/{id}", c.book)
	mux.HandleFunc("GET /shipments/{id}", c.get)

	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

func keyOf(r *http.Request) string { return strings.ReplaceAll(r.PathValue("id"), "~", "/") }

// book makes a parcel once per key. One answer in three is bad, before or after it was made.
func (c *carrier) book(w http.ResponseWriter, r *http.Request) {
	fault := rand.IntN(18)
	if fault <= 5 {
		c.mu.Lock()
		c.ledger.Faults++
		c.mu.Unlock()
	}

	switch fault {
	case 0:
		http.Error(w, "no", http.StatusInternalServerError)
		return
	case 1:
		panic(http.ErrAbortHandler) // the connection is reset
	}

	c.act(keyOf(r))

	switch fault {
	case 2:
		http.Error(w, "no", http.StatusBadGateway)
		return
	case 3:
		panic(http.ErrAbortHandler)
	case 4: // does not answer in time
		select {
		case <-r.Context().Done():
		case <-time.After(3 * attemptTimeout):
		}
	}

	body, _ := json.Marshal(shipping.Shipment{Status: shipping.Booked, Tracking: "trk"})
	if fault != 5 {
		_, _ = w.Write(body)
		return
	}

	for _, b := range body { // the answer comes in drops
		_, _ = w.Write([]byte{b})
		_ = http.NewResponseController(w).Flush()
	}
}

// act makes the parcel, unless it was made before, and queues its reports.
func (c *carrier) act(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.ledger.Booked[key] > 0 {
		return
	}
	c.ledger.Booked[key]++
	c.reached[key] = shipping.Delivered

	all := []shipping.Milestone{shipping.Booked, shipping.Shipped, shipping.Delivered}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })

	if rand.IntN(5) == 0 {
		all = append(all, all[0])
	}

	order, _, _ := strings.Cut(key, "/")
	for _, m := range all {
		c.ledger.Open++
		c.queue <- shipping.Report{ID: key + "/" + string(m), Shipment: key, OrderID: order, Milestone: m}
	}
}

func (c *carrier) get(w http.ResponseWriter, r *http.Request) {
	if rand.IntN(10) == 0 {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}

	c.mu.Lock()
	m, known := c.reached[keyOf(r)]
	c.mu.Unlock()

	if !known {
		http.Error(w, "no", http.StatusNotFound)
		return
	}

	_ = json.NewEncoder(w).Encode(shipping.Shipment{Status: m, Tracking: "trk"})
}

// report sends reports, each to one shipper after the other until one has taken it.
func (c *carrier) report() {
	for r := range c.queue {
		body, err := json.Marshal(map[string]any{"type": "shipment." + string(r.Milestone), "timestamp": time.Now(), "data": r})
		if err != nil {
			panic(err)
		}

		if rand.IntN(50) == 0 {
			c.forge(body)
		}

		for {
			to := c.shippers[rand.IntN(len(c.shippers))]

			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			err := c.signer.Deliver(ctx, to, "rep_"+fmt.Sprint(rand.Uint64()), body, nil)
			cancel()

			if err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond) // the worker was killed, or the engine is busy
		}

		c.mu.Lock()
		c.ledger.Open--
		c.mu.Unlock()
	}
}

// forge sends the report as lost, with another secret, until a worker answers.
func (c *carrier) forge(body []byte) {
	body = bytes.ReplaceAll(body, []byte(`shipped"`), []byte(`lost"`))

	for {
		answer, _ := c.forger.Post(context.Background(), webhooks.Post{URL: c.shippers[rand.IntN(len(c.shippers))], ID: "rep_forged", Body: body})
		if answer.Status == 0 {
			continue
		}

		c.mu.Lock()
		defer c.mu.Unlock()

		c.ledger.Forged++
		if answer.Status == http.StatusUnauthorized {
			c.ledger.Refused++
		}

		return
	}
}
