package stepfunctions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
)

// deleteStateMachine marks the machine, aborts its running executions and
// removes everything that belongs to it. A crash in between leaves the mark, and
// Run goes on from there.
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

	return empty, s.purge(&marked)
}

// purge removes a marked machine with its executions. Revisions go as well: no
// execution is left to need them.
func (s *Service) purge(m *machine) error {
	for {
		keys, err := s.runningOf(m.ID, 256)
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
		return nil // another call has done it
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

// runningOf lists running executions of a machine.
func (s *Service) runningOf(machine uint64, most int) (keys []executionKey, err error) {
	err = s.db.Scan(key(keyRunning, machine), key(keyRunning, machine+1), false, func(k, _ []byte) (bool, error) {
		keys = append(keys, executionKey{machine, number(k)})
		return len(keys) < most, nil
	})

	return keys, err
}

// finishDeletions goes on with deletions that a crash interrupted.
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
		all = errors.Join(all, s.purge(m))
	}

	return all
}

// settle syncs a batch, when there is one.
func settle(batch *store.Batch) error {
	if batch == nil {
		return nil
	}
	return batch.Sync()
}
