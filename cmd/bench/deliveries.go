package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
	"ratchet/transitions"
)

// benchDeliveries measures webhooks per second to one endpoint and to 100, with receivers in this
// process. Then one of the 100 endpoints hangs. The ratio is the share of their rate that the other
// endpoints keep.
func benchDeliveries(ctx context.Context, work size) ([]figure, error) {
	one, err := deliverTo(ctx, 1, work.orders, false)
	if err != nil {
		return nil, err
	}

	// Both are measured in turn, so that a slower moment of the machine affects both. In the first
	// quarter of a second, a hanging endpoint is waited for like any other; this is a small part of
	// a full run.
	const endpoints = 100
	var alone, beside float64
	notices := max(10, work.orders/10)

	for range max(3, work.rounds) {
		rate, err := deliverTo(ctx, endpoints, notices, false)
		if err != nil {
			return nil, err
		}
		// The best round of each counts: a disturbance can only slow a round down.
		alone = max(alone, rate)

		if rate, err = deliverTo(ctx, endpoints, notices, true); err != nil {
			return nil, err
		}
		beside = max(beside, rate)
	}

	return []figure{
		{"deliveries_per_second", one, "/s", "webhooks to one endpoint, with their records"},
		{"deliveries_per_second_100_endpoints", alone, "/s", "webhooks to 100 endpoints"},
		{"deliveries_beside_a_hanging_endpoint_ratio", beside / alone, "", "to 99 endpoints, per endpoint, while one hangs; goal: 0.95"},
	}, nil
}

// arrivals counts messages until all are there.
type arrivals struct {
	all  int64
	seen atomic.Int64
	done chan struct{} // closed by the last one
}

func newArrivals(all int) *arrivals { return &arrivals{all: int64(all), done: make(chan struct{})} }

func (a *arrivals) count() {
	if a.seen.Add(1) == a.all {
		close(a.done)
	}
}

// deliverTo sends the notifications to each endpoint, and returns the deliveries per second and
// endpoint, times the number of endpoints. If hang is set, the first endpoint hangs and does not
// count.
func deliverTo(ctx context.Context, endpoints, notices int, hang bool) (rate float64, err error) {
	counted := endpoints
	if hang {
		counted--
	}

	far := newArrivals(counted * notices)
	ended := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)

		// No answer until the sender gives up, or the benchmark ends.
		if hang && r.URL.Path == "/e0" {
			select {
			case <-r.Context().Done():
			case <-ended:
			}

			return
		}
		w.WriteHeader(http.StatusNoContent)
		far.count()
	}))
	// Deferred calls run in reverse: hanging requests end first, or Close would wait for them.
	defer receiver.Close()
	defer close(ended)

	d, closeEngine, err := openDeliveries(ctx, receiver.URL, endpoints)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeEngine()) }()

	running, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- d.Run(running) }()

	// The acceptance is a part of the measured time: the records are written there.
	began := time.Now()

	if err := acceptAll(ctx, d, notices); err != nil {
		stop()
		return 0, errors.Join(err, <-stopped)
	}

	select {
	case <-far.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	took := time.Since(began)
	stop()

	// The rate of one endpoint, times all endpoints: so the figures with and without the
	// hanging endpoint can be compared.
	return float64(notices*endpoints) / took.Seconds(), errors.Join(err, <-stopped)
}

// acceptAll accepts notifications as the handlers of a poller do.
func acceptAll(ctx context.Context, d *notify.Deliveries, notices int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)

	for i := range notices {
		group.Go(func() error {
			order := fmt.Sprintf("o-%06d", i)

			return d.Accept(ctx, notify.Notification{
				Key:          order + "/0/2/notify",
				OrderID:      transitions.OrderID(order),
				Incarnation:  "0",
				TransitionID: 2,
				State:        "SHIPPED",
				At:           time.Now(),
			})
		})
	}

	return group.Wait()
}

// openDeliveries returns deliveries over an engine with that many endpoints.
func openDeliveries(ctx context.Context, target string, endpoints int) (*notify.Deliveries, func() error, error) {
	engine, stop, err := openEmbedded(embedded.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}

	d, err := newDeliveries(ctx, dynamodb.NewFromConfig(engine.AWSConfig()), target, endpoints)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}

	return d, stop, nil
}

func newDeliveries(ctx context.Context, db *dynamodb.Client, target string, endpoints int) (*notify.Deliveries, error) {
	for _, table := range []*dynamodb.CreateTableInput{notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries")} {
		if _, err := db.CreateTable(ctx, table); err != nil {
			return nil, err
		}
	}

	var configured []notify.Endpoint
	for i := range endpoints {
		configured = append(configured, notify.Endpoint{
			ID:       fmt.Sprintf("e%d", i),
			Settings: notify.Settings{Destination: fmt.Sprintf("%s/e%d", target, i), Concurrency: notify.MaxConcurrency},
			Secrets:  []notify.Secret{{Key: webhooks.NewSecret()}},
		})
	}

	all, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: db, Table: "endpoints", Configured: configured})
	if err != nil {
		return nil, err
	}

	return notify.New(notify.Config{
		DynamoDB:  db,
		Table:     "deliveries",
		Endpoints: all,
		Open:      destination.Opener{Reach: webhooks.ReachLoopback}.Open,
		// The benchmark is over; nothing waits for deliveries that are still open.
		DrainTimeout: time.Millisecond,
		Log:          slog.New(slog.DiscardHandler),
	})
}
