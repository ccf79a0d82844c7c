package leases

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// The workers' heartbeat rows, under "workers/" and the stream's key. The sort key is the worker's
// name.
const (
	workerRowsPrefix = "workers/"
	workerCounter    = "counter" // incremented by every heartbeat
	workerChanges    = "changes" // incremented after a change of leases that concerns others
	workerState      = "state"   // see below; absent while the worker takes leases
)

// The states of a worker.
const (
	Stopping = "stopping" // takes no leases any more, and still holds some
	Left     = "left"     // has stopped: its leases are free
)

// WorkerRow is a worker's sign of life as it is stored; see Liveness.
type WorkerRow struct {
	Owner   string
	Counter int64
	Changes int64
	State   string
	// Duration: see Lease.
	Duration time.Duration
}

// FirstBeat is the first heartbeat of a worker: it takes leases, whatever its row says of a run before.
func (t *Table) FirstBeat(owner string, change bool) *dynamo.Update {
	return t.beat(owner, change).RemoveAttribute(workerState)
}

// Beat is a heartbeat of a worker: its counter grows, and with change its number of changes of leases. state
// is "" while the worker takes leases. A heartbeat that arrives after that of a later state is refused: it would make a
// worker that has left count as alive.
func (t *Table) Beat(owner, state string, change bool) *dynamo.Update {
	update := t.beat(owner, change)

	switch state {
	case "":
		return update.IfAbsent(workerState)
	case Stopping:
		name := update.Name(workerState)
		update.If("attribute_not_exists(" + name + ") OR " + name + " <> " + update.Value(dynamo.S(Left)))
	}

	return update.SetValue(workerState, dynamo.S(state))
}

func (t *Table) beat(owner string, change bool) *dynamo.Update {
	update := dynamo.NewUpdate(t.Table, Key(workerRowsPrefix+t.Stream, owner)).
		SetValue(leaseDuration, dynamo.N(t.Duration.Milliseconds()))

	one := update.Value(dynamo.N(1))
	update.Add(update.Name(workerCounter) + " " + one)

	if change {
		update.Add(update.Name(workerChanges) + " " + one)
	}

	return update
}

// ReadWorkers returns the signs of life of all workers of the stream.
func (t *Table) ReadWorkers(ctx context.Context) ([]WorkerRow, error) {
	rows, err := readRows(ctx, t.API, t.Table, workerRowsPrefix+t.Stream)
	if err != nil {
		return nil, fmt.Errorf("streams: read the workers of %s: %w", t.Stream, err)
	}

	out := make([]WorkerRow, len(rows))
	for i, row := range rows {
		out[i] = WorkerRow{
			Owner:   dynamo.Text(row, ShardKey),
			Counter: dynamo.Number(row, workerCounter),
			Changes: dynamo.Number(row, workerChanges),
			State:   dynamo.Text(row, workerState),

			Duration: duration(row),
		}
	}

	return out, nil
}

// DeleteWorker deletes the row of a worker unless it has changed since it was read.
func (t *Table) DeleteWorker(ctx context.Context, row WorkerRow) error {
	return t.deleteIf(ctx, Key(workerRowsPrefix+t.Stream, row.Owner), "#counter = :counter", workerCounter, row.Counter)
}
