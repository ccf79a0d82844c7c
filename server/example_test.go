package server_test

import (
	"context"
	"fmt"
	"os"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// A program that holds a whole Ratchet: the parts of a Backend are what its commands and its API call.
// Run would run a worker, too.
func ExampleEmbed() {
	ctx := context.Background()

	dir, err := os.MkdirTemp("", "server")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	b, err := server.Embed(server.Config{Data: dir, Notify: "none"}.WithDefaults(), embeddedtest.Quiet(), server.Events{})
	if err != nil {
		panic(err)
	}
	defer b.Close()

	if err := b.Init(ctx); err != nil {
		panic(err)
	}

	if _, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 2500, Currency: "EUR"}}); err != nil {
		panic(err)
	}

	result, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2})
	if err != nil {
		panic(err)
	}

	fmt.Println(result.Verdict, result.Order.State)
	// Output: Applied PAYMENT_RECEIVED
}
