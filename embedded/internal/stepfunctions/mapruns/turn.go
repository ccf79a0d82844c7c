package mapruns

import (
	"errors"
	"strings"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
)

// ErrEnding reports that a Map Run starts no more children.
var ErrEnding = errors.New("the Map Run is ending")

// First is stored with the first turn of an execution, beside its state.
type First struct {
	// Named is the key of the execution's name, and value is stored under it.
	Named, Value []byte
	// Next is the place after the items of a child; nil for other executions.
	Next *execution.MapCursor
}

// Apply applies the batch of a turn together with the changes of Map Runs that the turn causes.
func (l *Book) Apply(
	batch *store.Batch, k keys.Execution, was execution.Status, st *execution.State, turn *execution.Turn, first *First,
) error {
	// Most turns concern no Map Run and do not wait for the lock that all Map Runs share.
	if st.Child == nil && len(turn.Runs) == 0 && len(turn.EndedRuns) == 0 {
		return batch.Apply()
	}

	// This lock is always taken after the execution's lock, which the caller holds.
	l.mu.Lock()
	defer l.mu.Unlock()

	c := &changes{book: l, machine: Owner(k, st), runs: map[uint64]*Run{}}
	if err := c.collect(batch, k, was, st, turn, first); err != nil {
		return err
	}

	for id, r := range c.runs {
		if r == nil {
			continue
		}

		if err := save(batch, keys.Run{Machine: c.machine, ID: id}, r); err != nil {
			return err
		}
	}

	if err := batch.Apply(); err != nil {
		return err
	}

	// The Map Runs are woken after Apply, so that advanceRun reads the new records.
	for id := range c.runs {
		l.work.wake(keys.Run{Machine: c.machine, ID: id})
	}

	return nil
}

// changes are the Map Runs that a turn changes, by number. A Map
// Run that was deleted with its machine is nil.
type changes struct {
	book    *Book
	machine uint64
	runs    map[uint64]*Run
}

func (c *changes) get(id uint64) (*Run, error) {
	if r, ok := c.runs[id]; ok {
		return r, nil
	}

	r, err := c.book.Load(keys.Run{Machine: c.machine, ID: id})
	c.runs[id] = r

	return r, err
}

func (c *changes) collect(
	batch *store.Batch, k keys.Execution, was execution.Status, st *execution.State, turn *execution.Turn, first *First,
) error {
	now := c.book.clock.Now()

	for _, order := range turn.Runs {
		// 0 redrives means that the state has just started the Map Run.
		if order.Redrives == 0 {
			r, err := c.book.newRun(k, st, &order)
			if err != nil {
				return err
			}

			c.runs[order.Run] = r
			batch.Set(keys.Run{Machine: c.machine, ID: order.Run}.OfExecution(k), nil)

			continue
		}

		r, err := c.get(order.Run)
		if err != nil {
			return err
		}

		if r != nil {
			r.redrive(now)
		}
	}

	for _, ended := range turn.EndedRuns {
		r, err := c.get(ended.Run)
		if err != nil {
			return err
		}

		switch {
		// The Map Run was deleted with its machine.
		case r == nil:
		case ended.Succeeded:
			r.Finish(execution.Succeeded, now)
		case ended.Finished:
			r.Finish(execution.Failed, now)
		default:
			r.abandon()
		}
	}

	if st.Child == nil {
		return nil
	}

	r, err := c.get(st.Child.Run)
	if err != nil {
		return err
	}

	if first == nil && r == nil {
		// The machine was deleted since the child was read, and the child with it.
		return requests.ErrNoExecution
	}

	if first == nil {
		r.count(k, st, was, nil)
		return nil
	}

	// The Map Run began to end after the input of this child was computed.
	if r == nil || !r.Running() || r.Ending != 0 {
		return ErrEnding
	}

	r.count(k, st, was, first.Next)

	return nil
}

// newRun returns a Map Run that an execution starts.
func (l *Book) newRun(k keys.Execution, st *execution.State, order *execution.MapRun) (*Run, error) {
	rev, err := l.machines.Revision(Owner(k, st), st.Revision)
	if err != nil {
		return nil, err
	}

	d := rev.Program.States[order.Map].Distributed
	r := &Run{
		ID:                  order.Run,
		Name:                order.Name,
		Machine:             rev.Machine,
		Express:             d.Express,
		Revision:            st.Revision,
		Map:                 order.Map,
		ParentMachine:       k.Machine,
		Parent:              k.ID,
		ParentName:          st.Name,
		Thread:              order.Thread,
		Started:             l.clock.Now().UnixMilli(),
		Concurrency:         order.Concurrency,
		ToleratedCount:      order.ToleratedCount,
		ToleratedPercentage: order.ToleratedPercentage,
		TotalItems:          order.Items,
		Batches:             d.Batcher != nil,
		BatchItems:          order.BatchItems,
	}

	if st.Child != nil {
		parent, err := l.Load(runOf(st.Child))
		// The Map Run of the parent is gone, and so is the machine.
		if err != nil || parent == nil {
			return nil, errors.Join(err, ErrEnding)
		}

		r.ParentLabel = parent.Label()
	}

	return r, nil
}

// Label returns the label of the Map's state.
func (r *Run) Label() string {
	label, _, _ := strings.Cut(r.Name, ":")
	return label
}
