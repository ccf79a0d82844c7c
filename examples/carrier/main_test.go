package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"ratchet/notify/webhooks"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/tests/program"
	"ratchet/transitions"
	"ratchet/workflow"
)

// carrierIn runs a carrier until the test ends, at an address that was reserved before.
func carrierIn(t *testing.T, o options) {
	t.Helper()

	ctx, stop := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- run(ctx, o, func(string) { close(ready) }) }()

	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
}

// TestOrdersGoTheirWayWithABadCarrier: the carrier is down at first, repeats its reports, and all
// parcels come back. The shop asks it before it believes a report, and gives the money back.
func TestOrdersGoTheirWayWithABadCarrier(t *testing.T) {
	secret := webhooks.NewSecret().Reveal()
	address := program.FreeAddress(t)

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{
		Carrier:       "http://" + address,
		CarrierToken:  "a-token",
		CarrierSecret: server.Secret(secret),
		RefundReturns: true,
	}})
	env.SetStock("mug", 10)

	handler, err := env.Backend.APIHandler(t.Context(), true, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	shop := httptest.NewServer(handler)
	t.Cleanup(shop.Close)

	o, err := parse([]string{
		"-listen", address, "-data", filepath.Join(t.TempDir(), "data"), "-token", "a-token",
		"-callback-url", shop.URL + "/v1/callbacks/carrier", "-secret", secret,
		"-delay", "10ms", "-down", "300ms", "-duplicate-percent", "50", "-early-percent", "100", "-late-percent", "50", "-returned-percent", "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	carrierIn(t, o)

	const orders = 5
	for i := range orders {
		env.Execute(transitions.NewOrder{
			ID:    transitions.OrderID(fmt.Sprint("o-", i)),
			Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 1250}},
			Total: transitions.Money{Amount: 1250, Currency: "EUR"},
		})
	}

	for i := range orders {
		id := transitions.OrderID(fmt.Sprint("o-", i))

		var order *transitions.Order
		env.Wait(string(id)+" to be refunded", func() (_ bool, seen string, err error) {
			var found bool
			if order, found, err = env.Backend.Orders.Get(t.Context(), id); err != nil || !found {
				return false, "not placed yet", err
			}

			return order.State == workflow.Refunded, string(order.State), nil
		})

		p, err := env.Backend.Payments.Get(t.Context(), payments.IDForOrder(order.LifeID()))
		if err != nil || p.State != "REFUNDED" || p.Refunded != 1250 {
			t.Errorf("payment of %s: %+v, %v", id, p, err)
		}
	}
}

func TestParseRefusesWhatIsMissing(t *testing.T) {
	if _, err := parse([]string{"-callback-url", "http://127.0.0.1:1"}); err == nil {
		t.Error("no secret")
	}

	if err := run(t.Context(), options{secret: "short"}, nil); err == nil {
		t.Error("a short secret")
	}
}
