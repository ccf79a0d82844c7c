package processes

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

const (
	// Interval is the time between two heartbeats.
	Interval = 10 * time.Second
	// startInterval is that of a process that has just begun, for one Interval: its parts begin one
	// after the other, and without the worker's a reader would find that none runs.
	startInterval = 2 * time.Second
	// Retention is how long a row is kept after its last heartbeat.
	Retention = time.Hour
	// beatTimeout bounds one heartbeat, and reportTimeout what a process says about itself.
	beatTimeout   = 8 * time.Second
	reportTimeout = 4 * time.Second
	// rateSamples is how many heartbeats a rate goes back: a minute.
	rateSamples = 6
)

// Self is the process that [Store.Run] keeps a row for.
type Self struct {
	// Version is that of the program.
	Version string
	// Report is called for each heartbeat, with a context that ends after four seconds. The last
	// call is made when ctx of Run has ended: it may say why.
	Report func(ctx context.Context) Report
	// Beaten is called after each heartbeat, from the goroutine of Run. It is optional.
	Beaten func(ctx context.Context, beat int64)
}

// Run writes the row every ten seconds, and every two during the first ten, until ctx ends, and then
// marks it as ended. A heartbeat that fails is logged, and the next one is written: the process must
// not fail for want of its row.
func (s *Store) Run(ctx context.Context, self Self) {
	host, _ := os.Hostname()
	row := Process{ID: rand.Text(), Host: host, Version: self.Version, StartedAt: time.Now().UTC().Truncate(time.Second)}

	r := &run{store: s, self: self, row: row, throttle: &worker.LogThrottle{}}

	for began := time.Now(); ; {
		r.beat(ctx)

		pause := Interval
		if time.Since(began) < Interval {
			pause = startInterval
		}

		if !worker.Wait(ctx, pause) {
			r.end(context.WithoutCancel(ctx))
			return
		}
	}
}

// run is one call of Run.
type run struct {
	store    *Store
	self     Self
	row      Process
	samples  []sample
	throttle *worker.LogThrottle
}

func (r *run) beat(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()

	r.describe(call)

	err := r.write(call)
	if err != nil && ctx.Err() == nil && r.throttle.Allow() {
		r.store.cfg.Log.Warn("the heartbeat of this process cannot be written; it may be reported as missing", "error", err)
	}

	if r.self.Beaten != nil && ctx.Err() == nil {
		r.self.Beaten(ctx, r.row.Beat)
	}
}

// end marks the row as ended.
func (r *run) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()

	r.describe(ctx)
	r.row.Ready, r.row.EndedAt = false, r.row.BeatAt

	if err := r.write(ctx); err != nil {
		r.store.cfg.Log.Warn("the end of this process cannot be written; it will be reported as missing", "error", err)
	}
}

// describe makes the row say what the process says now.
func (r *run) describe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()

	now := time.Now()
	r.row.Report = r.self.Report(ctx)
	r.row.Beat++
	r.row.BeatAt = now.UTC().Truncate(time.Millisecond)

	r.samples = append(r.samples, sample{now, maps.Clone(r.row.Counters)})
	if len(r.samples) > rateSamples+1 {
		r.samples = r.samples[1:]
	}
	r.row.Rates = rates(r.samples[0], r.samples[len(r.samples)-1])
}

// write stores the row. The condition refuses a heartbeat that arrives after a newer one: a call
// that was given up may still be under way.
func (r *run) write(ctx context.Context) error {
	item, err := r.row.item()
	if err != nil {
		return err
	}

	_, err = r.store.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &r.store.cfg.Table,
		Item:                      item,
		ConditionExpression:       ptr("attribute_not_exists(#beat) OR #beat < :beat"),
		ExpressionAttributeNames:  map[string]string{"#beat": beatAttribute},
		ExpressionAttributeValues: dynamo.Item{":beat": dynamo.N(r.row.Beat)},
	})
	if _, failed := dynamo.FailedCondition(err); failed {
		return nil // a repeat of the SDK, after an answer was lost
	}

	if err != nil {
		return fmt.Errorf("heartbeat %d of process %s: %w", r.row.Beat, r.row.ID, err)
	}

	return nil
}
