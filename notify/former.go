package notify

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

const (
	// formerFor is how long the item of a former endpoint is kept: far longer than a worker that has not
	// heard of the end stores deliveries.
	formerFor = 24 * time.Hour
	// claimFor is how long an endpoint of the configuration counts as one after the last claim of a
	// worker that has it.
	claimFor = 24 * time.Hour
	// maxFormerLook is the longest time between two looks for deliveries to a former endpoint.
	maxFormerLook = time.Hour
	// formerPage is how many deliveries to a former endpoint one query reads.
	formerPage = 100

	reasonRemoved  = "the endpoint was removed"
	reasonReplaced = "the endpoint was removed and created again"
)

// former is an endpoint that has ended. Workers end its deliveries.
type former struct {
	id    string
	mark  string // the attribute that says when it ended
	ended time.Time
	// counted says that the endpoint was in the table, and is in the counts of the shares.
	counted bool
}

// formerOf returns the former endpoint that an item of no configured endpoint shows. It reports false
// for an endpoint that has not ended.
func formerOf(item dynamo.Item, now time.Time) (former, bool) {
	if dynamo.Text(item, endpointSettings) != "" {
		return former{}, false
	}

	// A claim after the removal counts: the configuration has the endpoint since.
	for _, mark := range []string{endpointClaimed, endpointRemoved} {
		if at := dynamo.Time(item, mark); !at.IsZero() {
			return former{dynamo.Text(item, endpointKey), mark, at, item[endpointRemoved] != nil}, !at.After(now)
		}
	}

	return former{}, false // only its status was stored
}

// startFormer ends the deliveries of former endpoints, if a look for them is due. It returns the time of
// the next look. The caller holds the lock.
func (d *Deliveries) startFormer(ctx context.Context, all []former, now, next time.Time) time.Time {
	there := make(map[former]bool, len(all))
	for _, f := range all {
		there[f] = true

		if due := d.former[f]; due.After(now) {
			next = earlier(next, due)
			continue
		}
		// Workers that have not heard of the end yet may store deliveries, and the later the fewer.
		pause := min(max(d.cfg.LookEvery, now.Sub(f.ended)/2), maxFormerLook)
		d.former[f] = now.Add(pause)
		d.work.Add(1)

		go d.endFormer(ctx, f, now)
	}

	for f := range d.former {
		if !there[f] {
			delete(d.former, f)
		}
	}

	return next
}

// endFormer gives up the PENDING deliveries of a former endpoint, and removes its item after formerFor.
func (d *Deliveries) endFormer(ctx context.Context, f former, now time.Time) {
	defer d.work.Done()

	left, err := d.missAll(ctx, f.id, now)
	if err == nil && left == 0 && now.Sub(f.ended) >= formerFor {
		err = d.cfg.Endpoints.dropFormer(ctx, f)
	}

	if err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("the deliveries of an endpoint that was removed have not all ended; they are looked for again", "endpoint", f.id, "err", err)
	}
}

// missAll gives up the PENDING deliveries of a former endpoint. It returns how many it has left, because
// a worker may be trying them.
func (d *Deliveries) missAll(ctx context.Context, id string, now time.Time) (left int, err error) {
	for shard := range queueShards {
		var after dynamo.Item

		for {
			call, cancel := d.call(ctx)
			page, last, err := d.records.queued(call, queueName(id, Pending, shard), time.Time{}, after, formerPage)
			cancel()

			if err != nil {
				return left, err
			}

			for _, delivery := range page {
				// Its due time may be the end of an attempt's lease.
				if delivery.Attempts > 0 && delivery.NextTry.After(now) && !delivery.NextTry.After(now.Add(d.cfg.lease())) {
					left++
					continue
				}

				if err := d.miss(ctx, delivery, reasonRemoved); err != nil {
					return left, err
				}
			}

			if after = last; len(after) == 0 {
				break
			}
		}
	}

	return left, nil
}

// claim stores that a worker has the endpoints in its configuration, so that workers of another
// configuration do not take them for former endpoints. It writes a few times a day.
func (s *Endpoints) claim(ctx context.Context, v view) error {
	for _, e := range s.cfg.Configured {
		now := s.clock.Now()
		if v.claims[e.ID].Sub(now) > claimFor/2 {
			continue
		}

		// No condition: a claim that another worker writes at the same moment is as good.
		update := dynamo.NewUpdate(s.cfg.Table, endpointItemKey(e.ID)).
			SetValue(endpointClaimed, dynamo.Millis(now.Add(claimFor)))
		if _, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input(), s.clock.Listen); err != nil {
			return fmt.Errorf("claim endpoint %s: %w", e.ID, err)
		}
		s.forget()
	}

	return nil
}
