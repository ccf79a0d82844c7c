package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
)

// runChunk is the number of children of a Map Run that are started, redriven or stopped before
// the next Map Run has its turn. They share a flush of the disk. runChunkBytes bounds the inputs
// of the children that are started.
const (
	runChunk      = 64
	runChunkBytes = 4 << 20
)

// runMapRuns starts, redrives and stops the children of Map Runs, and ends Map Runs, until ctx
// ends. A step is a turn of an execution, whose batch also updates the record of the Map Run, or
// changes the record alone. So after a crash the record shows the next step.
func (s *Service) runMapRuns(ctx context.Context) error {
	for {
		k, ok := s.runs.Take(ctx)
		if !ok {
			return nil
		}

		if err := s.advanceRun(ctx, k); err != nil {
			s.log.Error("step functions: Map Run", "machine", k.Machine, "run", k.ID, "error", err)

			select {
			case <-ctx.Done():
			case <-time.After(timerRetry):
			}

			s.runs.Wake(k)
		}
	}
}

// advanceRun takes the next steps of a Map Run, at most runChunk. These steps list the
// Map Run again.
func (s *Service) advanceRun(ctx context.Context, k keys.Run) error {
	r, err := s.runs.Load(k)
	if err != nil || r == nil || !r.Running() {
		return err
	}

	// This check comes before anything else starts: the child that woke the Map Run may have
	// exceeded the tolerance.
	if r.Ending == 0 && r.Exceeded() {
		return s.failRun(ctx, k, nil)
	}

	idle := r.Executions[execution.Running] == 0

	switch {
	case r.Ending != 0 && idle:
		return s.endRun(ctx, k, r)
	// The service cannot stop Express executions, so the Map Run waits for them to end.
	case r.Ending != 0 && r.Express:
		return nil
	case r.Ending != 0:
		return s.stopChildren(ctx, k, r)
	case r.RedriveAt != 0 && r.Room() > 0:
		return s.redriveChildren(ctx, k, r)
	case r.RedriveAt != 0:
		// No room. A child that ends wakes the Map Run.
		return nil
	case !r.Exhausted() && r.Room() > 0:
		return s.startChildren(ctx, k, r)
	case r.Exhausted() && idle:
		return s.completeRun(ctx, k, r)
	default:
		return nil // a child that ends wakes the Map Run
	}
}

// synced syncs the batch of a change, which may be nil, and joins both errors.
func synced(batch *store.Batch, err error) error { return errors.Join(err, syncBatch(batch)) }

// stopChildren aborts children that run.
func (s *Service) stopChildren(ctx context.Context, k keys.Run, r *mapruns.Run) error {
	running, err := s.runningExecutions(r.ID, s.chunk)
	if err != nil {
		return err
	}

	return s.stopEach(ctx, running)
}

// stopEach aborts children. It skips a child that was deleted with its machine since it was listed.
func (s *Service) stopEach(ctx context.Context, children []keys.Execution) (err error) {
	var batches []*store.Batch
	// Synced together at the end, so that a chunk costs one flush of the disk.
	for _, child := range children {
		batch, stopErr := s.stimulate(ctx, child, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
			return env.Stop(st, "", "")
		})
		if batch != nil {
			batches = append(batches, batch)
		}

		if !errors.Is(stopErr, execution.ErrNotRunning) && !errors.Is(stopErr, requests.ErrNoExecution) {
			err = errors.Join(err, stopErr)
		}
	}

	return errors.Join(err, syncAll(batches))
}

func syncAll(batches []*store.Batch) (err error) {
	for _, batch := range batches {
		err = errors.Join(err, batch.Sync())
	}

	return err
}

// startChildren starts the next children.
func (s *Service) startChildren(ctx context.Context, k keys.Run, r *mapruns.Run) error {
	inputs, refused, err := s.nextInputs(ctx, r, min(r.Room(), int64(s.chunk)))
	if errors.Is(err, execution.ErrNotScheduled) || errors.Is(err, requests.ErrNoExecution) {
		// The parent has ended or left the state, and that turn has told the Map Run.
		return nil
	}

	if err != nil {
		return err
	}

	var batches []*store.Batch
	// Each child that has started is in exactly one of the two tallies, so their sum is the next index.
	index := r.Executions.Total() + r.WaitingExecutions.Total()

	for _, in := range inputs {
		batch, startErr := s.startChild(ctx, k, r, index, in)
		if startErr != nil {
			// The Map Run has begun to end since r was read. The children before this one are stored.
			if !errors.Is(startErr, mapruns.ErrEnding) {
				err = startErr
			}

			break
		}

		batches = append(batches, batch)
		index++
	}

	err = errors.Join(err, syncAll(batches))

	// An input that cannot be made fails the Map Run, but only after the children before it have started.
	if err == nil && refused != nil && len(batches) == len(inputs) {
		return s.failRun(ctx, k, refused)
	}

	return err
}

// nextInputs returns the inputs of up to most children, and the failure of the one after them.
func (s *Service) nextInputs(ctx context.Context, r *mapruns.Run, most int64) (inputs []execution.MapInput, refused *execution.CallFailure, err error) {
	bytes := 0
	_, err = s.stimulate(ctx, r.Waiter(), func(env *execution.Env, st *execution.State) (_ *execution.Turn, err error) {
		refused, err = env.MapInputs(st, r.Thread, r.ID, r.Redrives, r.Next, func(in execution.MapInput) bool {
			in.JSON = append([]byte(nil), in.JSON...)
			inputs, bytes = append(inputs, in), bytes+len(in.JSON)

			return int64(len(inputs)) < most && bytes < runChunkBytes
		})

		return nil, err
	})

	return inputs, refused, err
}

// startChild starts a child. It fails with mapruns.ErrEnding when the Map Run is ending.
func (s *Service) startChild(ctx context.Context, k keys.Run, r *mapruns.Run, index int64, in execution.MapInput) (*store.Batch, error) {
	rev, err := s.machines.Revision(k.Machine, r.Revision)
	if err != nil {
		return nil, err
	}

	id, err := s.ids.Next()
	if err != nil {
		return nil, err
	}

	child := keys.Execution{Machine: r.ID, ID: id}
	st := &execution.State{
		Name:     s.newName(),
		Revision: r.Revision,
		Child:    &execution.Child{Machine: k.Machine, Run: r.ID, Map: r.Map, Index: index, Items: in.Items},
	}
	first := &mapruns.First{
		Named: keys.ChildName(k.Machine, r.Label(), st.Name),
		Value: child.Numbers(),
		Next:  &in.Next,
	}

	batch, _, err := s.storeFirstTurn(ctx, child, first, st, rev, in.JSON)

	return batch, err
}

// redriveChildren runs unsuccessful children again, in the order in which they were started.
func (s *Service) redriveChildren(ctx context.Context, k keys.Run, r *mapruns.Run) error {
	found, err := s.unsuccessfulChildren(r, min(r.Room(), int64(s.chunk)))
	if err != nil {
		return err
	}

	// No child is left for the redrive, so new children may start.
	if len(found) == 0 {
		return synced(s.runs.Change(k, func(r *mapruns.Run) (bool, error) {
			r.RedriveAt = 0
			return true, nil
		}))
	}

	return s.redriveEach(ctx, k, r, found)
}

// redriveEach runs children again. It stops at a child that was
// deleted with its machine since it was listed.
func (s *Service) redriveEach(ctx context.Context, k keys.Run, r *mapruns.Run, found []keys.Execution) (err error) {
	var batches []*store.Batch
	for _, child := range found {
		batch, redriveErr := s.stimulate(ctx, child, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
			if st.Status == execution.Running {
				return nil, nil
			}

			// An Express execution cannot continue where it failed, so it runs again from its first state.
			if r.Express {
				return env.Rerun(st)
			}

			return env.Redrive(st)
		})

		var refused *execution.NotRedrivableError
		if errors.As(redriveErr, &refused) {
			// Without this, the Map Run would try the same child again and again.
			batch, redriveErr = s.leaveChild(k, child)
		}

		if batch != nil {
			batches = append(batches, batch)
		}

		if redriveErr != nil {
			if !errors.Is(redriveErr, requests.ErrNoExecution) {
				err = redriveErr
			}

			// The children after it wait: RedriveAt must not pass a child that was not redriven.
			break
		}
	}

	return errors.Join(err, syncAll(batches))
}

// leaveChild records that a child cannot be redriven. The child stays as it is.
func (s *Service) leaveChild(k keys.Run, child keys.Execution) (*store.Batch, error) {
	st, err := s.readExecution(child)
	if err != nil {
		return nil, err
	}

	return s.runs.Change(k, func(r *mapruns.Run) (bool, error) {
		r.Leave(child, st)
		return true, nil
	})
}

// unsuccessfulChildren returns up to most children that wait for a redrive.
func (s *Service) unsuccessfulChildren(r *mapruns.Run, most int64) (found []keys.Execution, err error) {
	lo, hi := keys.Execution{Machine: r.ID, ID: r.RedriveAt}, keys.Execution{Machine: r.ID, ID: ^uint64(0)}

	err = s.db.Scan(lo.Ended(), hi.Ended(), false, func(k, v []byte) (bool, error) {
		if execution.StoredStatus(v) != execution.Succeeded {
			found = append(found, keys.Execution{Machine: r.ID, ID: keys.Number(k)})
		}

		return int64(len(found)) < most, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the children of Map Run %d: %w", r.ID, err)
	}

	return found, nil
}
