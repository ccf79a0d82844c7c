package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"
)

// order is what a customer orders.
type order struct {
	ID, SKU          string
	Quantity, Amount int64
}

// far is the far sides of orders, reached over HTTP.
type far struct{ url string }

// serveOrders runs orders until the input ends. Its HTTP server at the address takes them, and the carrier's reports.
func serveOrders(server *temporaltest.TestServer, address, url string) error {
	f := &far{url}
	// The default of two pollers of a kind is for many processes; this one is all there is.
	server.NewWorkerWithOptions(queue, func(r worker.Registry) {
		r.RegisterWorkflow(runOrder)
		r.RegisterActivity(f)
	}, worker.Options{MaxConcurrentWorkflowTaskPollers: 16, MaxConcurrentActivityTaskPollers: 16})

	c := server.GetDefaultClient()
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		o := order{ID: r.PathValue("id")}
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}

		_, err := c.ExecuteWorkflow(r.Context(), client.StartWorkflowOptions{
			ID: o.ID, TaskQueue: queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			EnableEagerStart: true,
		}, runOrder, o)
		// A repeat.
		var known *serviceerror.WorkflowExecutionAlreadyStarted
		if err != nil && !errors.As(err, &known) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /orders/{id}/{milestone}", func(w http.ResponseWriter, r *http.Request) {
		if err := c.SignalWorkflow(r.Context(), r.PathValue("id"), "", r.PathValue("milestone"), nil); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})

	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("ready")

	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = web.Close()
	}()

	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	return nil
}

// runOrder is the workflow of an order.
func runOrder(ctx workflow.Context, o order) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var f *far

	do := func(activity any, args ...any) error {
		return workflow.ExecuteActivity(ctx, activity, args...).Get(ctx, nil)
	}
	notify := func(state string) error { return do(f.Notify, o.ID, state) }
	await := func(milestone string) { workflow.GetSignalChannel(ctx, milestone).Receive(ctx, nil) }

	if err := do(f.Reserve, o); err != nil {
		return err
	}

	if err := do(f.Charge, o); err != nil {
		return err
	}

	if err := notify("PAYMENT_RECEIVED"); err != nil {
		return err
	}

	if err := do(f.Book, o); err != nil {
		return err
	}
	await("shipped")

	if err := notify("SHIPPED"); err != nil {
		return err
	}
	await("delivered")

	return notify("DELIVERED")
}

// Reserve takes pieces of the stock, which is a service of its own here.
func (f *far) Reserve(ctx context.Context, o order) error {
	return f.send(ctx, http.MethodPut, "/stock/"+o.ID, o.ID, map[string]any{"orderId": o.ID, "sku": o.SKU, "quantity": o.Quantity})
}

// Charge charges the order.
func (f *far) Charge(ctx context.Context, o order) error {
	key := o.ID + "-sale"
	return f.send(ctx, http.MethodPut, "/bank/operations/"+key, key, map[string]any{"kind": "sale", "orderId": o.ID, "amount": o.Amount, "currency": "EUR"})
}

// Book books the parcel.
func (f *far) Book(ctx context.Context, o order) error {
	key := o.ID + "~shipping"
	return f.send(ctx, http.MethodPut, "/carrier/shipments/"+key, key, map[string]any{"orderId": o.ID})
}

// Notify tells the customer.
func (f *far) Notify(ctx context.Context, id, state string) error {
	return f.send(ctx, http.MethodPost, "/hooks", id+"/"+state, map[string]any{"type": "order." + state, "data": map[string]any{"orderId": id, "state": state}})
}

// send sends a request, which the far side acts on once per key. Temporal tries again what fails.
func (f *far) send(ctx context.Context, method, path, key string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}

	request, err := http.NewRequestWithContext(ctx, method, f.url+path, bytes.NewReader(text))
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
}
