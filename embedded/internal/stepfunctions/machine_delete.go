package stepfunctions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
)

// deleteStateMachine marks the machine as deleting, aborts its running executions and
// removes everything that belongs to it. After a crash in between, the mark is still there
// and Run continues.
func (s *Service) deleteStateMachine(_ context.Context, in *machineRequest) (any, error) {
	name, ours, err := s.resourceName(in.StateMachineArn, "stateMachine")
	if err != nil {
		return nil, err
	}

	s.mu.Lock()

	m := s.machines[name]
	if m == nil || !ours {
		s.mu.Unlock()
		return empty, nil
	}

	marked := *m
	marked.Deleting = true
	err = s.commitRecord(nameKey(keyMachine, name), &marked)
	if err == nil {
		s.machines[name] = &marked
	}
	s.mu.Unlock()

	if err != nil {
		return nil, err
	}

	return empty, s.removeMachine(&marked)
}

// removeMachine removes a marked machine with its executions and revisions.
func (s *Service) removeMachine(m *machine) error {
	for {
		keys, err := s.runningExecutions(m.ID, 256)
		if err != nil {
			return err
		}

		if len(keys) == 0 {
			break
		}

		for _, k := range keys {
			batch, err := s.stimulate(k, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
				return env.Stop(st, "", "the state machine was deleted")
			})
			if batch != nil {
				err = errors.Join(err, batch.Sync())
			}

			if err != nil && !errors.Is(err, execution.ErrNotRunning) {
				return fmt.Errorf("abort an execution of %s: %w", m.Name, err)
			}
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.machines[m.Name] != m {
		return nil // another call has removed it
	}

	b := s.db.NewBatch()
	b.Delete(nameKey(keyMachine, m.Name))

	for _, kind := range []byte{keyRevision, keyName, keyRunning, keyEnded, keyStatus, keyHistory} {
		b.DeleteRange(key(kind, m.ID), key(kind, m.ID+1))
	}

	if err := b.Commit(); err != nil {
		return fmt.Errorf("delete state machine %s: %w", m.Name, err)
	}

	delete(s.machines, m.Name)

	return nil
}

// runningExecutions returns up to most running executions of a machine.
func (s *Service) runningExecutions(machine uint64, most int) (keys []executionKey, err error) {
	err = s.db.Scan(key(keyRunning, machine), key(keyRunning, machine+1), false, func(k, _ []byte) (bool, error) {
		keys = append(keys, executionKey{machine, number(k)})
		return len(keys) < most, nil
	})

	return keys, err
}

// finishDeletions continues deletions that a crash interrupted.
func (s *Service) finishDeletions() error {
	s.mu.RLock()

	var marked []*machine
	for _, m := range s.machines {
		if m.Deleting {
			marked = append(marked, m)
		}
	}
	s.mu.RUnlock()

	var all error
	for _, m := range marked {
		all = errors.Join(all, s.removeMachine(m))
	}

	return all
}
