//go:build browser

package browser

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/api"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// fillShop makes what the pages show: twelve orders, of which the first one has something of everything.
func fillShop(t *testing.T, b *server.Backend) {
	t.Helper()
	ctx := t.Context()

	for i := range 12 {
		n := transitions.NewOrder{
			ID: transitions.OrderID(fmt.Sprint("o-", i+1)), Reference: fmt.Sprint("A-", i+1), Customer: "c-1",
			Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}}, Total: transitions.Money{Amount: 2500, Currency: "EUR"},
			Shipping: transitions.Address{"street": "1 Main Street"}, Own: transitions.Attributes{"shelf": &types.AttributeValueMemberN{Value: "7"}},
		}
		_, err := b.Orders.Create(ctx, n)

		if err == nil {
			_, err = b.Orders.Apply(ctx, transitions.Request{OrderID: n.ID, Event: workflow.Ship, RequestID: "too-early"})
		}

		if err != nil {
			t.Fatal(err)
		}
	}
	accounts, err := payments.OpenOrderAccounts(ctx, b.Ledger, "EUR")
	if err == nil {
		_, err = b.Payments.Authorize(ctx, payments.NewPayment{ID: "p-1", OrderID: "o-1", Payer: accounts.Payer, Payee: accounts.Payee, Amount: 2500, Currency: "EUR"})
	}

	for _, more := range []func() error{
		func() error { return err },
		func() error {
			_, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Hold, RequestID: "hold"})
			return err
		},
		func() error { return b.Stock.Set(ctx, "mug", 100) },
		func() error { return b.Stock.Set(ctx, "cup", 0) },
		func() error {
			return b.Stock.Reserve(ctx, "o-1", []inventory.Line{{SKU: "mug", Quantity: 2}})
		},
		func() error {
			_, err := b.Endpoints.Create(ctx, "shop", notify.Settings{Destination: "log"}, nil)
			return err
		},
		func() error { _, err := b.Endpoints.Disable(ctx, "shop", "test"); return err },
		func() error {
			return b.Deliveries.Accept(ctx, notify.Notification{Key: "o-1/0/2/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 2, State: "ON_HOLD", At: time.Now()})
		},
		func() error {
			letter := streams.Record{Handler: reactions.NotifyHandler, EventName: streams.Modify, Keys: b.Orders.Mapping().ItemKey("o-1"), SequenceNumber: "1"}
			return b.DeadLetters().Rows().Store(ctx, letter, errors.New("no answer"), nil)
		},
	} {
		if err := more(); err != nil {
			t.Fatal(err)
		}
	}
}

// startJob starts a job through the API, so that there is an act, too.
func startJob(t *testing.T, address string) {
	t.Helper()

	send(t, http.MethodPost, address+"/v1/jobs", `{"kind":"orders-erase","ids":["o-12"],"dryRun":true}`, "")
}

// send sends a request to the API, which must do it. The key is "" for a request that has none.
func send(t *testing.T, method, address, body, key string) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(api.ReasonHeader, "the customer asked")

	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s, %v", method, address, answer.StatusCode, text, err)
	}
}

// jobPage is the page of the job.
func jobPage(t *testing.T, b *server.Backend) string {
	t.Helper()

	all, _, err := b.Jobs.List(t.Context(), "", "", 1)
	if err != nil || len(all) == 0 {
		t.Fatalf("jobs: %v, %v", all, err)
	}

	return "/jobs/" + all[0].ID
}
