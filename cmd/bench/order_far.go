package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// carrierPause is how long a parcel takes to each of its milestones.
const carrierPause = 100 * time.Millisecond

// farSides are a bank, a carrier and a receiver of webhooks over HTTP, for all systems the same. Each acts once per key, and
// counts its acts.
type farSides struct {
	*httptest.Server

	// report tells the system that the order's parcel has reached the milestone. It is tried again until it succeeds.
	report func(ctx context.Context, p parcel, milestone string) error

	mu sync.Mutex
	// charges, parcels and notices count requests by order and key.
	charges, parcels, notices map[string]map[string]int
	milestones                map[string]string
	ended                     map[string]chan struct{} // closed by the last notice of the order
	reports                   sync.WaitGroup
	// connections is how many were opened by the system.
	connections atomic.Int64
	ctx         context.Context //nolint:containedctx // reports go on between the requests
	stop        context.CancelFunc
}

// parcel is a shipment as its system has booked it.
type parcel struct {
	key     string
	OrderID string `json:"orderId"`
	// Shipped and Delivered are what Restate waits for.
	Shipped   string `json:"shipped"`
	Delivered string `json:"delivered"`
}

func newFarSides() *farSides {
	f := &farSides{charges: map[string]map[string]int{}, parcels: map[string]map[string]int{}, notices: map[string]map[string]int{}, milestones: map[string]string{}, ended: map[string]chan struct{}{}}
	f.ctx, f.stop = context.WithCancel(context.Background())

	mux := http.NewServeMux()
	mux.HandleFunc("PUT /bank/operations/{key}", f.charge)
	mux.HandleFunc("GET /bank/operations/{key}", f.lookUp)
	mux.HandleFunc("PUT /carrier/shipments/{key}", f.book)
	mux.HandleFunc("GET /carrier/shipments/{key}", f.track)
	// Stock beside the system, for one that has none.
	mux.HandleFunc("PUT /stock/{key}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /hooks", f.notice)
	f.Server = httptest.NewUnstartedServer(mux)
	f.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.connections.Add(1)
		}
	}
	f.Start()

	return f
}

// close ends the reports and the server.
func (f *farSides) close() {
	f.stop()
	f.reports.Wait()
	f.Close()
}

// count counts a request and reports whether it is the first with its key. f.mu is held.
func count(of map[string]map[string]int, order, key string) (first bool) {
	if of[order] == nil {
		of[order] = map[string]int{}
	}
	of[order][key]++

	return of[order][key] == 1
}

func farAnswer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // it fails only when the caller is gone
}

// readFar decodes a request's body.
func readFar(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(into)
	if err != nil {
		farAnswer(w, http.StatusUnprocessableEntity, map[string]string{"code": "invalid_request", "detail": err.Error()})
	}

	return err == nil
}

func (f *farSides) charge(w http.ResponseWriter, r *http.Request) {
	var in struct{ OrderID string }
	if !readFar(w, r, &in) {
		return
	}

	f.mu.Lock()
	count(f.charges, in.OrderID, r.PathValue("key"))
	f.mu.Unlock()
	farAnswer(w, http.StatusOK, map[string]string{"status": "succeeded", "reference": r.PathValue("key")})
}

func (f *farSides) lookUp(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, keys := range f.charges {
		if keys[r.PathValue("key")] > 0 {
			farAnswer(w, http.StatusOK, map[string]string{"status": "succeeded", "reference": r.PathValue("key")})
			return
		}
	}
	farAnswer(w, http.StatusNotFound, map[string]string{"code": "unknown_key"})
}

func (f *farSides) book(w http.ResponseWriter, r *http.Request) {
	p := parcel{key: r.PathValue("key")}
	if !readFar(w, r, &p) {
		return
	}

	f.mu.Lock()
	if count(f.parcels, p.OrderID, p.key) {
		f.milestones[p.key] = "booked"
		f.reports.Go(func() { f.carry(p) })
	}
	f.mu.Unlock()
	farAnswer(w, http.StatusOK, map[string]string{"status": "booked", "tracking": "T" + p.OrderID})
}

func (f *farSides) track(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	milestone := f.milestones[r.PathValue("key")]
	f.mu.Unlock()

	if milestone == "" {
		farAnswer(w, http.StatusNotFound, map[string]string{"code": "unknown_shipment"})
		return
	}
	farAnswer(w, http.StatusOK, map[string]string{"status": milestone, "tracking": "T"})
}

// carry reports the milestones of a parcel, each until the system takes it.
func (f *farSides) carry(p parcel) {
	for _, milestone := range []string{"shipped", "delivered"} {
		for pause := carrierPause; ; pause = 2 * carrierPause {
			select {
			case <-f.ctx.Done():
				return
			case <-time.After(pause):
			}

			f.mu.Lock()
			f.milestones[p.key] = milestone
			f.mu.Unlock()

			if f.report(f.ctx, p, milestone) == nil {
				break
			}
		}
	}
}

func (f *farSides) notice(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Data struct{ OrderID, State string }
	}
	if !readFar(w, r, &in) {
		return
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	if first := count(f.notices, in.Data.OrderID, in.Data.State); first && len(f.notices[in.Data.OrderID]) == 3 {
		close(f.endOf(in.Data.OrderID))
	}
	w.WriteHeader(http.StatusNoContent)
}

// endOf returns the channel that the last notice of the order closes. f.mu is held.
func (f *farSides) endOf(order string) chan struct{} {
	if f.ended[order] == nil {
		f.ended[order] = make(chan struct{})
	}

	return f.ended[order]
}

// await waits until the far sides have seen the end of the order.
func (f *farSides) await(ctx context.Context, order string) error {
	f.mu.Lock()
	ended := f.endOf(order)
	f.mu.Unlock()

	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// farCount is what the far sides have seen of all orders.
type farCount struct {
	// ended are orders with three notices. doubled are orders with two charges or two parcels under different keys.
	ended, doubled int
	// repeats are requests under a key that had been seen, which the far sides answered again.
	repeats int
}

func (f *farSides) count() (c farCount) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for _, keys := range f.notices {
		if len(keys) == 3 {
			c.ended++
		}
	}

	for _, side := range []map[string]map[string]int{f.charges, f.parcels} {
		for _, keys := range side {
			if len(keys) > 1 {
				c.doubled++
			}
		}
	}

	for _, side := range []map[string]map[string]int{f.charges, f.parcels, f.notices} {
		for _, keys := range side {
			for _, n := range keys {
				c.repeats += n - 1
			}
		}
	}

	return c
}

// ask sends a request with a JSON body and expects one of the statuses.
func ask(ctx context.Context, client *http.Client, method, url string, body any, header http.Header, want ...int) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}

	got, err := send(ctx, client, method, url, text, header)
	if err == nil && !slices.Contains(want, got.status) {
		err = fmt.Errorf("%s %s: %d: %s", method, url, got.status, got.body)
	}

	return err
}

// received is an answer, with the beginning of its body.
type received struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request with a JSON body.
func send(ctx context.Context, client *http.Client, method, url string, body []byte, header http.Header) (got received, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return got, err
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")

	answer, err := client.Do(request)
	if err != nil {
		return got, err
	}
	defer answer.Body.Close()

	got = received{status: answer.StatusCode, header: answer.Header}
	got.body, err = io.ReadAll(io.LimitReader(answer.Body, 4<<10))

	return got, err
}

// freeAddress returns an address of this machine that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return "", err
	}

	return l.Addr().String(), l.Close()
}
