package deliveries

import (
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestKilledWorkersAndABadCarrier: three workers book the shipments of many orders and take their
// reports. One after the other is killed. The carrier fails, hangs, resets and drops answers after it
// has acted; it reports out of order, twice, and forged. In the end it has made one parcel for each
// order, and every order is delivered, by four transitions.
func TestKilledWorkersAndABadCarrier(t *testing.T) {
	engine := httptest.NewServer(embeddedtest.Open(t).Handler())
	t.Cleanup(engine.Close)

	db, _, err := newEndpoints(engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	embeddedtest.Create(t, db, shipperTables()...)

	const workers = 3
	secret := webhooks.NewSecret().Reveal()
	addresses, urls := make([]string, workers), make([]string, workers)

	for w := range workers {
		l, err := net.Listen("tcp", "127.0.0.1:0") // a worker that is started again has the same address
		if err != nil {
			t.Fatal(err)
		}
		addresses[w], urls[w] = l.Addr().String(), "http://"+l.Addr().String()+"/"
		_ = l.Close()
	}

	far := start(t, envRole+"=carrier", envSecret+"="+secret, envShippers+"="+strings.Join(urls, ","))
	if !far.out.Scan() {
		t.Fatal("the carrier did not start")
	}
	target := far.out.Text()

	var killed sync.Mutex // guards kills
	kills := 0

	var group sync.WaitGroup
	for w := range workers {
		begin := func() *process {
			return start(t, envRole+"=shipper", envEngine+"="+engine.URL, envCarrier+"="+target, envSecret+"="+secret, envAddress+"="+addresses[w])
		}
		p := begin()

		group.Go(func() {
			sent := 0
			for order := w; order < *flagOrders; order += workers {
				for line := fmt.Sprintf("o-%05d", order); !p.accept(line); {
					p.kill()
					p = begin()
				}

				killed.Lock()
				if sent++; kills < *flagKills && sent%max(1, *flagOrders/(*flagKills+workers)) == 0 {
					kills++
					_ = p.cmd.Process.Kill()
				}
				killed.Unlock()
			}

			if !p.accept("o-00000") { // it takes reports until the end of the test
				p.kill()
				begin()
			}
		})
	}
	group.Wait()

	s, err := newShipper(db, target, secret)
	if err != nil {
		t.Fatal(err)
	}

	var l carrierLedger
	wait(t, 10*time.Minute, func() (done bool, state string) {
		l = read[carrierLedger](t, target+"/ledger")
		waiting, _, err := s.desk.List(t.Context(), reports.Waiting, "", 10)
		if err != nil {
			t.Fatal(err)
		}

		return l.Open == 0 && len(waiting) == 0, fmt.Sprintf("%d reports are open, %v wait", l.Open, waiting)
	})
	t.Logf("%d kills, %d faults, %d reports were forged", kills, l.Faults, l.Forged)

	if len(l.Booked) != *flagOrders || l.Faults == 0 || l.Refused != l.Forged {
		t.Errorf("%d shipments of %d orders, %d faults, %d of %d forged reports refused", len(l.Booked), *flagOrders, l.Faults, l.Refused, l.Forged)
	}

	for order := range *flagOrders {
		id := transitions.OrderID(fmt.Sprintf("o-%05d", order))

		got, _, err := s.orders.Get(t.Context(), id)
		if err != nil || got == nil || got.State != workflow.Delivered || got.TransitionID != 4 || l.Booked[got.EffectKey(2, shipping.Effect)] != 1 {
			t.Errorf("order %s: %+v, %v; booked %v", id, got, err, l.Booked)
		}
	}
}
