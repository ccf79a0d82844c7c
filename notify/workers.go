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

// Workers that run share the rates of endpoints equally. To count each other, each worker counts up
// an item of its own in the table of endpoints, while an endpoint has a rate.
const (
	workerItem = "worker#" // begins its key; no endpoint's id has this character
	workerBeat = "beat"

	// aliveFor is how long a worker counts after its number was seen to change. After that another
	// worker removes its item, so that killed workers do not leave ever more items behind. A worker
	// that lives nevertheless stores its item again.
	aliveFor = 3*refreshEvery + refreshEvery/2
)

// presence is a worker's knowledge of the other workers. Only Run uses it.
type presence struct {
	id     string
	beatAt time.Time // the newest beat of this worker, zero before the first
	seen   map[string]sighting
}

// sighting is another worker's number and when it was first seen, by this worker's clock: the clocks
// of two workers are never compared.
type sighting struct {
	beat int64
	at   time.Time
}

func newPresence() presence {
	return presence{id: workerItem + rand.Text(), seen: map[string]sighting{}}
}

// count returns how many workers run, and the items that others have left behind.
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
			// Otherwise the map would grow with every worker that ever ran.
			delete(p.seen, id)
		}
	}

	return workers, left
}

// countWorkers tells the others that this worker runs, and counts them, if an endpoint has a rate.
func (d *Deliveries) countWorkers(ctx context.Context, all []Endpoint, now time.Time) {
	if !slices.ContainsFunc(all, func(e Endpoint) bool { return e.Rate > 0 }) {
		return
	}

	beats := d.cfg.Endpoints.recentBeats()
	workers, left := d.presence.count(beats, now)

	d.mu.Lock()
	d.workers = workers
	d.mu.Unlock()

	// This is called for every wake-up; the writes are not.
	if p := &d.presence; p.beatAt.IsZero() || now.Sub(p.beatAt) >= refreshEvery {
		p.beatAt = now
		d.beat(ctx, left, beats)
	}
}

// beat counts up this worker's item, and removes items that other workers have left behind.
func (d *Deliveries) beat(ctx context.Context, left []string, beats map[string]int64) {
	if err := d.cfg.Endpoints.beat(ctx, d.presence.id); err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("the other workers were not told that this one runs; together they may exceed the rates of endpoints", "err", err)
	}

	for _, id := range left {
		if err := d.cfg.Endpoints.leave(ctx, id, beats[id]); err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("the item of a worker that has ended was not removed; it is tried again", "worker", id, "err", err)
		}
	}
}

// goAway lets the others have this worker's share at once.
func (d *Deliveries) goAway(ctx context.Context) {
	if d.presence.beatAt.IsZero() {
		return
	}

	// Run's context has ended, and this write has to be made all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.storeTimeout())
	defer cancel()

	if err := d.cfg.Endpoints.leave(ctx, d.presence.id, 0); err != nil {
		d.cfg.Log.Warn("the other workers were not told that this one ends", "err", err)
	}
}

// beat counts up the item of a worker.
func (s *Endpoints) beat(ctx context.Context, worker string) error {
	update := dynamo.NewUpdate(s.cfg.Table, endpointItemKey(worker)).Bind(":one", dynamo.N(1)).Add("#" + workerBeat + " :one")
	if _, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("count up %s: %w", worker, err)
	}

	return nil
}

// leave removes the item of a worker, if it still has the number; 0 for any.
func (s *Endpoints) leave(ctx context.Context, worker string, beat int64) error {
	in := &dynamodb.DeleteItemInput{TableName: &s.cfg.Table, Key: endpointItemKey(worker)}
	// A worker that lives has counted up since then, and keeps its item.
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

// recentBeats returns the numbers of the workers that the newest reading of the table has found.
func (s *Endpoints) recentBeats() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.beats
}

func isWorker(item dynamo.Item) bool {
	return strings.HasPrefix(dynamo.Text(item, endpointKey), workerItem)
}
