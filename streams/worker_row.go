package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// workerRow is a worker's sign of life as it is stored; see liveness.
type workerRow struct {
	owner   string
	counter int64
	changes int64
	state   string
}

// updateWorker begins an update of a worker's sign of life.
func (t *leaseTable) updateWorker(owner string) *dynamo.Update {
	return dynamo.NewUpdate(t.table, leaseKey(workerRowsPrefix+t.stream, owner))
}

// readWorkers returns the signs of life of all workers of the stream.
func (t *leaseTable) readWorkers(ctx context.Context) ([]workerRow, error) {
	rows, err := queryRows(ctx, t.api, t.table, workerRowsPrefix+t.stream)
	if err != nil {
		return nil, fmt.Errorf("streams: read the workers of %s: %w", t.stream, err)
	}

	out := make([]workerRow, len(rows))
	for i, row := range rows {
		out[i] = workerRow{
			owner:   dynamo.Text(row, leaseShard),
			counter: dynamo.Number(row, workerCounter),
			changes: dynamo.Number(row, workerChanges),
			state:   dynamo.Text(row, workerState),
		}
	}

	return out, nil
}

// deleteWorker deletes the row of a worker unless it has changed since it was read.
func (t *leaseTable) deleteWorker(ctx context.Context, row workerRow) error {
	_, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 &t.table,
		Key:                       leaseKey(workerRowsPrefix+t.stream, row.owner),
		ConditionExpression:       aws.String("#counter = :counter"),
		ExpressionAttributeNames:  map[string]string{"#counter": workerCounter},
		ExpressionAttributeValues: dynamo.Item{":counter": dynamo.N(row.counter)},
	})
	if _, changed := dynamo.FailedCondition(err); changed {
		return nil
	}

	return err
}

// observedWorkers has this worker's observations of the rows of all workers, its own row included.
// The times are by this worker's clock.
type observedWorkers map[string]*observedWorker

type observedWorker struct {
	workerRow
	unchangedSince time.Time // the end of the read that first showed the row's counter
	gone           bool      // the row was deleted; unchangedSince is when that was noticed
}

// goneWorkers is for how many lease durations a worker is remembered after its row was deleted.
const goneWorkers = 10

// observe adds a read of the rows that ended at now. It reports whether the leases should be read
// because of the rows: a worker has come or gone, or has changed leases.
func (o observedWorkers) observe(rows []workerRow, now time.Time, duration time.Duration) (news bool) {
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		seen[row.owner] = true

		w := o[row.owner]
		if w == nil || w.gone {
			o[row.owner] = &observedWorker{workerRow: row, unchangedSince: now}
			news = true

			continue
		}

		// A lower counter is a sign of life, too: the row was deleted and written again.
		if w.counter != row.counter {
			w.unchangedSince = now
		}
		news = news || w.changes != row.changes || w.state != row.state
		w.workerRow = row
	}

	for owner, w := range o {
		switch {
		case seen[owner]:
		// The worker is remembered for a while: apply needs the time at which the row was gone.
		case !w.gone:
			w.gone, w.unchangedSince = true, now
			news = true
		case now.Sub(w.unchangedSince) > goneWorkers*duration:
			delete(o, owner)
		}
	}

	return news
}

// taking returns the workers that are alive at now and take leases.
func (o observedWorkers) taking(now time.Time, duration time.Duration) []string {
	var out []string
	for owner, w := range o {
		if !w.gone && w.state == "" && now.Sub(w.unchangedSince) < duration {
			out = append(out, owner)
		}
	}

	return out
}

// nextExpiry returns the time from now until the first worker expires if no worker gives a further
// sign of life, and at most most.
func (o observedWorkers) nextExpiry(now time.Time, duration, most time.Duration) time.Duration {
	for _, w := range o {
		// Not for a worker that has left: its leases are free already.
		if left := duration - now.Sub(w.unchangedSince); left > 0 && w.state != workerLeft {
			most = min(most, left)
		}
	}

	return most
}

// apply sets in the leases since when their owners have shown no sign of life.
func (o observedWorkers) apply(leases map[string]*observedLease) {
	for _, l := range leases {
		w := o[l.Owner]

		switch {
		// The row of this owner was never seen: unchangedSince stays the time of the lease itself.
		case l.Owner == "" || w == nil:
		case w.gone:
			// The owner's row was deleted, so a write of the lease is the only sign of life. Before
			// the deletion the owner had no reason to write the lease, so that time does not count.
			if l.unchangedSince.Before(w.unchangedSince) {
				l.unchangedSince = w.unchangedSince
			}
		default:
			l.unchangedSince = w.unchangedSince
			l.ownerLeft = w.state == workerLeft
		}
	}
}
