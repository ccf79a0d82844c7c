package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
)

// deleteStateMachine marks the machine as deleting, aborts its running executions and
// removes everything that belongs to it. After a crash in between, the mark is still there
// and Run continues.
func (s *Service) deleteStateMachine(ctx context.Context, in *struct{ StateMachineArn string }) (any, error) {
	m, err := s.machines.Mark(in.StateMachineArn)
	if err != nil {
		return nil, err
	}

	if m == nil {
		return requests.Empty, nil
	}

	return requests.Empty, s.removeMachine(ctx, m)
}

// removeMachine removes a marked machine with its executions and revisions.
func (s *Service) removeMachine(ctx context.Context, m *machines.Machine) error {
	m.WaitForStarts()

	if err := s.stopExecutions(ctx, m.ID); err != nil {
		return fmt.Errorf("abort an execution of %s: %w", m.Name, err)
	}

	// An ended execution starts no more Map Runs, and an ended Map Run no more children. A child that was
	// aborted here may have started a Map Run of its own before, so the loop lists the Map Runs again.
	for {
		runs, err := s.runs.Of(m.ID)
		if err != nil {
			return err
		}

		for _, id := range runs {
			if err := s.stopExecutions(ctx, id); err != nil {
				return fmt.Errorf("abort a child execution of %s: %w", m.Name, err)
			}
		}

		if done, err := s.removeEnded(m, runs); done || err != nil {
			return err
		}
	}
}

// stopExecutions aborts the running executions of a machine or of a Map Run.
func (s *Service) stopExecutions(ctx context.Context, number uint64) error {
	for {
		// A machine may have more running executions than memory should list at a time.
		found, err := s.runningExecutions(number, 256)
		if err != nil || len(found) == 0 {
			return err
		}

		for _, k := range found {
			batch, err := s.stimulate(ctx, k, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
				return env.Stop(st, "", "the state machine was deleted")
			})
			if batch != nil {
				err = errors.Join(err, batch.Sync())
			}

			// It has ended by itself since it was listed.
			if err != nil && !errors.Is(err, execution.ErrNotRunning) && !errors.Is(err, requests.ErrNoExecution) {
				return err
			}
		}
	}
}

// removeEnded removes a machine with its executions and with runs, its Map Runs. done is false if an
// execution or a child has started another one since the Map Runs were listed.
func (s *Service) removeEnded(m *machines.Machine, runs []uint64) (done bool, err error) {
	return s.machines.Remove(m, func(b *store.Batch) (bool, error) {
		// From here to the commit, no turn can add a Map Run or a child.
		defer s.runs.Freeze()()

		now, err := s.runs.Of(m.ID)
		if err != nil || !slices.Equal(now, runs) {
			b.Discard()
			return false, err
		}

		for _, id := range runs {
			if found, err := s.runningExecutions(id, 1); err != nil || len(found) > 0 {
				b.Discard()
				return false, err
			}

			removeNumber(b, id)
		}

		removeNumber(b, m.ID)

		if err := b.Commit(); err != nil {
			return false, fmt.Errorf("delete state machine %s: %w", m.Name, err)
		}

		return true, nil
	})
}

// removeNumber removes what belongs to a machine or to a Map Run.
func removeNumber(b *store.Batch, id uint64) {
	for _, kind := range []byte{
		keys.Revision, keys.Name, keys.Running, keys.Ended, keys.Status, keys.History, keys.Express, keys.MapRun, keys.RunOf,
	} {
		b.DeleteRange(keys.Of(kind, id), keys.Of(kind, id+1))
	}
}

// runningExecutions returns up to most running executions of a machine.
func (s *Service) runningExecutions(machine uint64, most int) (found []keys.Execution, err error) {
	err = s.db.Scan(keys.Of(keys.Running, machine), keys.Of(keys.Running, machine+1), false, func(k, _ []byte) (bool, error) {
		found = append(found, keys.Execution{Machine: machine, ID: keys.Number(k)})
		return len(found) < most, nil
	})

	return found, err
}

// finishDeletions continues deletions that a crash interrupted.
func (s *Service) finishDeletions(ctx context.Context) (all error) {
	for _, m := range s.machines.Marked() {
		all = errors.Join(all, s.removeMachine(ctx, m))
	}

	return all
}
