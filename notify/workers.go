package notify

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Running workers share the rates of endpoints equally. To count each other, each worker has an
// item in the table of endpoints, whose number (its beat) it increments while any endpoint has a
// rate.
const (
	workerItem = "worker#" // prefix of the item's key; no endpoint's id has a #
	workerBeat = "beat"

	// aliveFor is how long a worker counts as running after the last change of its beat. After that
	// another worker removes its item, so that the items of killed workers do not stay. If the
	// worker still runs, it stores its item again.
	aliveFor = 3*refreshEvery + refreshEvery/2
)

// presence is what this worker has seen of the other workers. Only Run uses it.
type presence struct {
	id     string
	beatAt time.Time // the newest beat of this worker, zero before the first
	seen   map[string]sighting
}

// sighting is another worker's beat, and when this worker first saw that beat, by its own clock.
// The clocks of two workers are never compared.
type sighting struct {
	beat int64
	at   time.Time
}

func newPresence() presence {
	return presence{id: workerItem + rand.Text(), seen: map[string]sighting{}}
}

// count returns how many workers run, including this one, and the ids of items whose workers have
// ended.
func (p *presence) count(beats map[string]int64, now time.Time) (workers int, left []string) {
	workers = 1

	for id, beat := range beats {
		if id == p.id {
			continue
		}

		if last, known := p.seen[id]; !known || last.beat != beat {
			p.seen[id] = sighting{beat, now}
		}

		if now.Sub(p.seen[id].at) < aliveFor {
			workers++
		} else {
			left = append(left, id)
		}
	}

	for id := range p.seen {
		if _, there := beats[id]; !there {
			// Without this the map would keep an entry for every worker that has ever run.
			delete(p.seen, id)
		}
	}

	return workers, left
}

// If an endpoint has a rate, countWorkers counts the running workers, and shows the others that
// this worker runs.
func (d *Deliveries) countWorkers(ctx context.Context, v view, now time.Time) {
	if !slices.ContainsFunc(v.all, func(e Endpoint) bool { return e.Rate > 0 }) {
		return
	}

	workers, left := d.presence.count(v.beats, now)

	d.mu.Lock()
	d.workers = workers
	d.mu.Unlock()

	// countWorkers is called at every wake-up, but writes only every refreshEvery.
	if p := &d.presence; p.beatAt.IsZero() || now.Sub(p.beatAt) >= refreshEvery {
		first := p.beatAt.IsZero()
		p.beatAt = now
		d.beat(ctx, first, left, v.beats)
	}
}

// beat increments this worker's beat, and removes the items of workers that have ended.
func (d *Deliveries) beat(ctx context.Context, first bool, left []string, beats map[string]int64) {
	call, cancel := d.call(ctx)
	defer cancel()

	if err := d.cfg.Endpoints.beat(call, d.presence.id, first); err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("the other workers were not told that this one runs; together they may exceed the rates of endpoints", "err", err)
	}

	for _, id := range left {
		if err := d.cfg.Endpoints.leave(call, id, beats[id]); err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("the item of a worker that has ended was not removed; it is tried again", "worker", id, "err", err)
		}
	}
}

// goAway removes this worker's item, so that the others use its share of the rates.
func (d *Deliveries) goAway(ctx context.Context) {
	if d.presence.beatAt.IsZero() {
		return
	}

	// Run's context has ended, but this write must still be made.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.storeTimeout())
	defer cancel()

	if err := d.cfg.Endpoints.leave(ctx, d.presence.id, 0); err != nil {
		d.cfg.Log.Warn("the other workers were not told that this one ends", "err", err)
	}
}

// beat increments the beat of a worker. Only its first beat stores the item, or one that finds the item removed by another
// worker: a beat that arrives late, after the worker has removed the item itself, would make it count as running.
func (s *Endpoints) beat(ctx context.Context, worker string, first bool) error {
	update := dynamo.NewUpdate(s.cfg.Table, endpointItemKey(worker)).Bind(":one", dynamo.N(1)).Add("#" + workerBeat + " :one")
	if !first {
		update.IfPresent(workerBeat)
	}

	_, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, removed := dynamo.FailedCondition(err); removed && !first {
		return s.beat(ctx, worker, true)
	}

	if err != nil {
		return fmt.Errorf("count up %s: %w", worker, err)
	}

	return nil
}

// leave removes the item of a worker if it still has this beat. With beat 0 it removes the item in
// any case.
func (s *Endpoints) leave(ctx context.Context, worker string, beat int64) error {
	in := &dynamodb.DeleteItemInput{TableName: &s.cfg.Table, Key: endpointItemKey(worker)}
	// The condition keeps the item of a worker that has incremented its beat since: that worker
	// still runs.
	if beat > 0 {
		condition := workerBeat + " = :beat"
		in.ConditionExpression, in.ExpressionAttributeValues = &condition, dynamo.Item{":beat": dynamo.N(beat)}
	}

	_, err := s.cfg.DynamoDB.DeleteItem(ctx, in)
	if _, runs := dynamo.FailedCondition(err); runs {
		return nil
	}

	if err != nil {
		return fmt.Errorf("remove %s: %w", worker, err)
	}

	return nil
}

func isWorker(item dynamo.Item) bool {
	return strings.HasPrefix(dynamo.Text(item, endpointKey), workerItem)
}
