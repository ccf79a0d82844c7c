package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
)

// recorder records the addresses that are about to be dialed. It lets none off this machine.
type recorder struct {
	mu     sync.Mutex
	dialed map[netip.AddrPort]int
}

var errOffMachine = errors.New("the test dials nothing off this machine")

func (r *recorder) dialing(to netip.AddrPort) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.dialed[to]++
	if !to.Addr().Unmap().IsLoopback() {
		return errOffMachine
	}

	return nil
}

// recordedWorker is a worker with endpoints, whose dialer records.
type recordedWorker struct {
	recorder
	*notify.Deliveries
}

// endpoint is one of the worker's. A stored URL need not be allowed: the settings of a process say which are.
type endpoint struct {
	url     string
	allowed bool
}

func newRecordedWorker(t *testing.T, reach webhooks.Reach, all []endpoint) *recordedWorker {
	t.Helper()

	db := embeddedtest.DynamoDB(t, notify.DeliveryTableInput("deliveries"), notify.EndpointTableInput("endpoints"))
	w := &recordedWorker{recorder: recorder{dialed: map[netip.AddrPort]int{}}}
	opener := destination.Opener{Reach: reach, Dialing: w.dialing}
	secrets := []notify.Secret{{Key: webhooks.NewSecret()}}

	var configured []notify.Endpoint
	for i, e := range all {
		one := notify.Endpoint{ID: fmt.Sprint("e-", i), Settings: notify.Settings{Destination: e.url}, Secrets: secrets}
		if err := opener.Check(one); (err == nil) != e.allowed {
			t.Errorf("%s: %v", e.url, err)
		}
		configured = append(configured, one)
	}

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: db, Table: "endpoints", Configured: configured})
	if err != nil {
		t.Fatal(err)
	}

	w.Deliveries, err = notify.New(notify.Config{
		DynamoDB: db, Table: "deliveries", Endpoints: endpoints, Open: opener.Open,
		Schedule: notify.Schedule{time.Millisecond}, LookEvery: time.Second, Log: embeddedtest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}

	return w
}

// deliver sends one notification to every endpoint, and waits until each delivery has ended. It
// returns how many the endpoints have taken.
func (w *recordedWorker) deliver(t *testing.T, endpoints int) (delivered int) {
	t.Helper()

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()

	defer func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	n := notify.Notification{Key: "o-1/0/3/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 3, State: "SHIPPED", At: time.Now()}
	if err := w.Accept(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		count := map[notify.Status]int{}
		if err := w.Scan(t.Context(), func(d notify.Delivery) bool {
			count[d.Status]++
			return true
		}); err != nil {
			t.Fatal(err)
		}

		if count[notify.Missed]+count[notify.Delivered] == endpoints {
			return count[notify.Delivered]
		}

		if time.Now().After(deadline) {
			t.Fatalf("%v of %d", count, endpoints)
		}
	}
}

func urlOf(address string) string {
	if strings.Contains(address, ":") {
		address = "[" + strings.Replace(address, "%", "%25", 1) + "]"
	}

	return "https://" + address + "/hook"
}

// TestNoDeliveryDialsABlockedAddress sends notifications to endpoints with each blocked address, and
// with a name that resolves to it after the endpoint was checked. Nothing is dialed. Beside them are
// public addresses, which show that the recorder sees what is dialed.
func TestNoDeliveryDialsABlockedAddress(t *testing.T) {
	all := append(append([]string{}, blocked...), public...)

	asked := resolve(t, func(name string) netip.Addr {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "n"), ".")

		i, err := strconv.Atoi(number)
		if err != nil || i >= len(all) {
			return netip.MustParseAddr("127.0.0.1")
		}

		return netip.MustParseAddr(all[i]).WithZone("")
	})

	var endpoints []endpoint
	want := map[netip.AddrPort]bool{}

	for i, text := range all {
		allowed := i >= len(blocked)
		endpoints = append(endpoints, endpoint{urlOf(text), allowed}, endpoint{fmt.Sprintf("https://n%d.example.test/hook", i), true})

		if allowed {
			want[netip.AddrPortFrom(netip.MustParseAddr(text).Unmap(), 443)] = true
		}
	}

	w := newRecordedWorker(t, webhooks.ReachPublic, endpoints)
	if n := w.deliver(t, len(endpoints)); n != 0 || int(asked.Load()) < len(all) {
		t.Errorf("%d delivered, the name server was asked %d times", n, asked.Load())
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	for to := range w.dialed {
		if !want[netip.AddrPortFrom(to.Addr().Unmap(), to.Port())] {
			t.Errorf("%s was dialed", to)
		}
	}

	if len(w.dialed) < len(want) {
		t.Errorf("%d addresses were dialed, want the %d public ones", len(w.dialed), len(want))
	}
}

// TestNoDeliveryFollowsARedirect to any address, blocked or public.
func TestNoDeliveryFollowsARedirect(t *testing.T) {
	all := append(append([]string{}, blocked...), public...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || i >= len(all) {
			t.Errorf("got %s", r.URL)
			return
		}
		w.Header().Set("Location", urlOf(all[i]))
		w.WriteHeader([]int{301, 302, 303, 307, 308}[i%5])
	}))
	defer server.Close()

	var endpoints []endpoint
	for i := range all {
		endpoints = append(endpoints, endpoint{fmt.Sprintf("%s/%d", server.URL, i), true})
	}

	w := newRecordedWorker(t, webhooks.ReachLoopback, endpoints)
	if n := w.deliver(t, len(all)); n != 0 {
		t.Errorf("%d delivered", n)
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	own := netip.MustParseAddrPort(server.Listener.Addr().String())
	if len(w.dialed) != 1 || w.dialed[own] == 0 {
		t.Errorf("dialed: %v, want only %s", w.dialed, own)
	}
}
