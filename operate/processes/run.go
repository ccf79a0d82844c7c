package processes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

const (
	// interval is the time between two heartbeats.
	interval = 10 * time.Second
	// startInterval replaces interval while a process begins: its parts start one after the other,
	// and until the worker's part is in the row a reader would report that no worker runs.
	startInterval = 2 * time.Second
	// retention is how long a row is kept after its last heartbeat.
	retention = time.Hour
	// beatTimeout bounds one heartbeat, and reportTimeout what a process says about itself.
	beatTimeout   = 8 * time.Second
	reportTimeout = 4 * time.Second
	// rateSamples is how many heartbeats a rate goes back: a minute.
	rateSamples = 6
)

// Self is the process that [Store.Run] keeps a row for.
type Self struct {
	// Version is the version of the program.
	Version string
	// Report is called for each heartbeat, with a context that ends after four seconds. It is
	// called a last time after ctx of Run has ended, and may then say why the process ends.
	Report func(ctx context.Context) Report
	// Minute is called at the end of each minute. It returns what the process has decided and moved since the last call. It is
	// optional: without it, no minutes are stored.
	Minute func() Minute
	// Beaten is called after each heartbeat, from the goroutine of Run. It is optional.
	Beaten func(ctx context.Context, beat int64)
}

// Run writes the row every two seconds during the first ten and every ten seconds after that, until
// ctx ends; then it marks the row as ended. A heartbeat that fails is logged, and the next one is
// written: a process must not fail because its row cannot be written.
func (s *Store) Run(ctx context.Context, self Self) {
	host, _ := os.Hostname()
	row := Process{ID: rand.Text(), Host: host, Version: self.Version, StartedAt: time.Now().UTC().Truncate(time.Second)}

	r := &run{store: s, self: self, row: row, throttle: &worker.LogThrottle{}}

	for began := time.Now(); ; {
		r.beat(ctx)

		pause := interval
		if time.Since(began) < interval {
			pause = startInterval
		}

		// ctx has ended here, but the row must still be marked: without the mark the process would
		// be reported as missing.
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

	minute    *Minute          // that is to be stored
	minuteEnd time.Time        // of the last one
	late      int64            // moves of minutes that were stored too late for the counts
	counted   map[string]int64 // the counters at its end
}

func (r *run) beat(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()

	r.describe(call)

	err := errors.Join(r.write(call), r.storeMinute(call, time.Now(), false))
	// The heartbeat that the end of ctx interrupts is no fault: end writes the last one.
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

	if err := errors.Join(r.write(ctx), r.storeMinute(ctx, time.Now(), true)); err != nil {
		r.store.cfg.Log.Warn("the end of this process cannot be written; it will be reported as missing", "error", err)
	}
}

// describe updates the row with the process's report, the next beat and the rates.
func (r *run) describe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()

	now := time.Now()
	r.row.Report = r.self.Report(ctx)
	// The beat grows also when the write will fail: two heartbeats never share a number, so a late
	// write cannot pass for a newer one.
	r.row.Beat++
	r.row.BeatAt = now.UTC().Truncate(time.Millisecond)

	// Cloned, because Report may return a map that it still counts in. Six intervals need
	// seven samples.
	r.samples = append(r.samples, sample{now, maps.Clone(r.row.Counters)})
	if len(r.samples) > rateSamples+1 {
		r.samples = r.samples[1:]
	}
	r.row.Rates = rates(r.samples[0], r.samples[len(r.samples)-1])
}

// write stores the row. Its condition refuses a heartbeat that arrives after a newer one, because a
// call that has timed out may still be under way.
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
		return nil // the SDK repeated a write whose answer was lost, or a newer heartbeat was first
	}

	if err != nil {
		return fmt.Errorf("heartbeat %d of process %s: %w", r.row.Beat, r.row.ID, err)
	}

	return nil
}
