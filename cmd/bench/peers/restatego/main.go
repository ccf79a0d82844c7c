// Command restatego serves the handlers of order.mjs (../restate) with Restate's Go SDK. The arguments are its address and the
// URL of the bank, the carrier and the receiver. order.mjs starts it. Only benchmarks use it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"
)

func main() {
	transport := http.DefaultTransport.(*http.Transport)
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 256, 0 // no connection is opened twice
	o := &order{far: os.Args[2]}

	err := server.NewRestate().
		WithLogger(slog.DiscardHandler, true).
		Bind(restate.Reflect(stock{})).
		Bind(restate.Reflect(o)).
		Start(context.Background(), os.Args[1])
	fmt.Fprintln(os.Stderr, "restatego:", err)
	os.Exit(1)
}

// stock is a virtual object for each SKU.
type stock struct{}

// Set sets the pieces that are available.
func (stock) Set(ctx restate.ObjectContext, available int) error {
	restate.Set(ctx, "available", available)
	return nil
}

// Reserve takes pieces.
func (stock) Reserve(ctx restate.ObjectContext, quantity int) error {
	available, err := restate.Get[int](ctx, "available")
	if err != nil {
		return err
	}

	if available < quantity {
		return restate.TerminalErrorf("out of stock")
	}
	restate.Set(ctx, "available", available-quantity)

	return nil
}

// order is the workflow of an order.
type order struct{ far string }

// ordered is what a customer orders.
type ordered struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Amount   int    `json:"amount"`
}

// Run runs an order to its end.
func (o *order) Run(ctx restate.WorkflowContext, in ordered) error {
	id := restate.Key(ctx)
	if _, err := restate.Object[restate.Void](ctx, "stock", in.SKU, "Reserve").Request(in.Quantity); err != nil {
		return err
	}

	charge := map[string]any{"kind": "sale", "orderId": id, "amount": in.Amount, "currency": "EUR"}
	if err := o.send(ctx, http.MethodPut, "/bank/operations/"+id+"-sale", id+"-sale", charge); err != nil {
		return err
	}

	if err := o.notify(ctx, id, "PAYMENT_RECEIVED"); err != nil {
		return err
	}

	shipped, delivered := restate.Awakeable[string](ctx), restate.Awakeable[string](ctx)
	booking := map[string]any{"orderId": id, "shipped": shipped.Id(), "delivered": delivered.Id()}
	if err := o.send(ctx, http.MethodPut, "/carrier/shipments/"+id+"~shipping", id+"~shipping", booking); err != nil {
		return err
	}

	if _, err := shipped.Result(); err != nil {
		return err
	}

	if err := o.notify(ctx, id, "SHIPPED"); err != nil {
		return err
	}

	if _, err := delivered.Result(); err != nil {
		return err
	}

	return o.notify(ctx, id, "DELIVERED")
}

// notify tells the customer.
func (o *order) notify(ctx restate.WorkflowContext, id, state string) error {
	return o.send(ctx, http.MethodPost, "/hooks", id+"/"+state, map[string]any{"type": "order." + state, "data": map[string]any{"orderId": id, "state": state}})
}

// send sends a request as a step, which the far side acts on once per key. Restate tries again what fails.
func (o *order) send(ctx restate.WorkflowContext, method, path, key string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}

	return restate.RunVoid(ctx, func(ctx restate.RunContext) error {
		request, err := http.NewRequestWithContext(ctx, method, o.far+path, bytes.NewReader(text))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)

		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()

		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return err
		}

		if answer.StatusCode >= 300 {
			return fmt.Errorf("%s %s: %s", method, path, answer.Status)
		}

		return nil
	})
}
