package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/api/auth"
	"ratchet/internal/worker"
	"ratchet/server"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	// lagCallers offer orders as fast as they are taken.
	lagCallers = 64
	// lagFor is how long they do, at least.
	lagFor = 30 * time.Second
)

// benchReactionLag offers orders over HTTP to one process, which serves the API and is a worker, as fast as it takes them. Its
// callers send an order that is refused again after the time that the answer names.
func benchReactionLag(ctx context.Context, work size) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	// The journal's handler is the first that sees each transition.
	var lag, ended atomic.Int64 // nanoseconds, and orders that have been delivered

	b, err := server.Embed(server.Config{
		Data: filepath.Join(dir, "data"), Notify: "file:" + filepath.Join(dir, "notifications.jsonl"), CarrierDelay: 100 * time.Millisecond,
		API: server.APIConfig{Rate: -1},
	}, nil, server.Events{Reacted: func(handler string, c transitions.Change) {
		if handler != reactions.JournalHandler {
			return
		}

		if c.New.State == workflow.Delivered {
			ended.Add(1)
		}

		// Only one goroutine may store a larger one at a time.
		for behind := int64(time.Since(c.Transition.At)); ; {
			if seen := lag.Load(); behind <= seen || lag.CompareAndSwap(seen, behind) {
				return
			}
		}
	}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	if err := errors.Join(b.Init(ctx), b.Stock.Set(ctx, "mug", 1_000_000_000)); err != nil {
		return nil, err
	}

	_, token, err := b.APIKeys.Create(ctx, auth.NewKey{Name: "bench", Tenant: auth.DefaultTenant, Scope: auth.Act})
	if err != nil {
		return nil, err
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return nil, err
	}

	running, stop := context.WithCancel(ctx)
	group, groupCtx := errgroup.WithContext(running)
	group.Go(func() error { return b.ServeAPI(groupCtx, listener, false) })
	group.Go(func() error { return b.Engine.Run(groupCtx) })
	group.Go(func() error { return b.RunCarrier(groupCtx) })
	group.Go(func() error { return b.Run(groupCtx, "worker") })
	defer func() {
		stop()
		err = errors.Join(err, group.Wait())
	}()

	o := offers{url: "http://" + listener.Addr().String() + "/v1/orders", token: string(token), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: lagCallers}}}
	defer o.client.CloseIdleConnections()

	// A short run only shows that the part works.
	took := lagFor
	if work.short() {
		took = 2 * time.Second
	}

	if err := o.offer(groupCtx, took); err != nil {
		return nil, err
	}
	offered, ends := time.Now(), ended.Load()

	// Executions may still wait for a worker then, which is a queue of its own: reactions are what must not be late.
	if err := handledUntil(groupCtx, b, offered); err != nil {
		return nil, err
	}

	return []figure{
		{name: "reaction_lag_s_full_load", value: time.Duration(lag.Load()).Seconds(), unit: "s", about: fmt.Sprintf("longest time from a transition to its first reaction, while one process takes orders over HTTP from %d callers as fast as it can", lagCallers)},
		{name: "orders_taken_per_second", value: float64(o.taken.Load()) / took.Seconds(), unit: "1/s", about: "orders that it takes meanwhile"},
		{name: "orders_ended_per_second_full_load", value: float64(ends) / took.Seconds(), unit: "1/s", about: "orders that are delivered meanwhile; the executions of the others wait for a worker"},
		{name: "orders_slowed_percent", value: 100 * float64(o.slowed.Load()) / float64(max(o.taken.Load()+o.slowed.Load(), 1)), unit: "%", about: "requests that it answers with 429 reactions_behind"},
		{name: "reactions_catch_up_s", value: time.Since(offered).Seconds(), unit: "s", about: "from the last order until no worker has a change before it left to handle, by the checkpoints"},
	}, nil
}

// offers is callers of the API that place orders.
type offers struct {
	url, token    string
	client        *http.Client
	taken, slowed atomic.Int64
}

// offer places orders from all callers for the time.
func (o *offers) offer(ctx context.Context, took time.Duration) error {
	until := time.Now().Add(took)
	callers, ctx := errgroup.WithContext(ctx)

	for caller := range lagCallers {
		callers.Go(func() error {
			for n := 0; time.Now().Before(until); n++ {
				if err := o.place(ctx, fmt.Sprintf("lag-%d-%d", caller, n), until); err != nil {
					return err
				}
			}

			return nil
		})
	}

	return callers.Wait()
}

// place sends an order until it is taken or the time is over.
func (o *offers) place(ctx context.Context, key string, until time.Time) error {
	order, err := json.Marshal(map[string]any{"items": []any{map[string]any{"sku": "mug", "quantity": 1, "price": 0}}, "total": map[string]any{"amount": 0, "currency": "EUR"}})
	if err != nil {
		return err
	}

	for time.Now().Before(until) {
		got, err := send(ctx, o.client, http.MethodPost, o.url, order, http.Header{"Authorization": {"Bearer " + o.token}, "Idempotency-Key": {key}})

		switch {
		case err != nil:
			return err
		case got.status == http.StatusCreated:
			o.taken.Add(1)
			return nil
		case got.status != http.StatusTooManyRequests:
			return fmt.Errorf("place an order: %d: %s", got.status, got.body)
		}
		o.slowed.Add(1)

		pause, err := strconv.Atoi(got.header.Get("Retry-After"))
		if err != nil {
			return fmt.Errorf("Retry-After: %w", err)
		}

		if !worker.Wait(ctx, min(time.Duration(pause)*time.Second, time.Until(until))) {
			return context.Cause(ctx)
		}
	}

	return nil
}
