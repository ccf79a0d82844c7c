package stepfunctions

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/stepfunctions/waiting"
	"ratchet/embedded/internal/store"
)

// storeTurn makes a turn visible in the store, in queues and in timers, and returns the batch to sync.
// state is the stored form of st, and before is the stored form of the state before the turn. before is
// nil in the first turn, and first is nil in all others. The caller holds the execution's lock.
func (s *Service) storeTurn(
	key keys.Execution, before []byte, st *execution.State, state []byte, turn *execution.Turn, first *mapruns.First,
) (*store.Batch, error) {
	batch := s.db.NewBatch()

	var was execution.Status
	if before == nil {
		batch.Set(first.Named, first.Value)
	} else if was = execution.StoredStatus(before); was == execution.Running {
		// A running execution has one key. An ended one has two: its state,
		// and the entry in the list of its status.
		if st.Status != execution.Running {
			batch.Delete(key.Running())
		}
	} else {
		// It had ended, so this is a redrive. The execution may have ended again within the turn.
		batch.Delete(key.Status(was))

		if st.Status == execution.Running {
			batch.Delete(key.Ended())
		}
	}

	if st.Status == execution.Running {
		batch.Set(key.Running(), state)
	} else {
		batch.Set(key.Ended(), state)
		batch.Set(key.Status(st.Status), nil)
	}

	var chunk int64
	var events []byte
	if len(turn.Events) > 0 {
		events = execution.AppendEvents(nil, turn.Events)
		batch.Set(key.History(turn.Chunk()), events)

		if turn.Documents {
			chunk = turn.Chunk()
		}
	}

	// Memory follows the store: if the batch fails, queues and timers stay as they are.
	if err := s.runs.Apply(batch, key, was, st, turn, first); err != nil {
		batch.Discard()
		return nil, fmt.Errorf("store a turn of execution %d: %w", key.ID, err)
	}

	if st.Status == execution.Running {
		s.recent.Put(key, state, chunk, events)
	} else {
		// An ended execution rarely gets another stimulus.
		s.recent.Remove(key)
	}

	for _, t := range turn.Dequeued {
		s.queues.Of(t.Resource).Remove(waiting.Task{Execution: key, Thread: t.Thread, Attempt: t.Attempt})
		s.watchers.Remove(waiting.Task{Execution: key, Thread: t.Thread, Attempt: t.Attempt})
	}

	if st.Status != execution.Running {
		// watchRunning adds a watcher under the same lock, so none is added after this point.
		for _, t := range s.watchers.Ended(key) {
			s.queues.Of(execution.WatchQueue).Put(t)
		}
	}

	for _, t := range turn.Queued {
		s.queues.Of(t.Resource).Put(waiting.Placed{Task: waiting.Task{Execution: key, Thread: t.Thread, Attempt: t.Attempt}, Order: int64(t.Queue)})
	}

	s.timers.Set(key, st.NextTimer())

	return batch, nil
}

// loadExecution returns an execution's state, running or ended, with its stored form. It
// fails with requests.ErrNoExecution. A caller without the execution's lock may see an older state.
func (s *Service) loadExecution(key keys.Execution) ([]byte, *execution.State, error) {
	var data []byte
	var err error
	// The cache holds running executions only, and nearly all stimuli are for these.
	item, ok := s.recent.Get(key)
	if data = item.State; !ok {
		data, ok, err = s.db.Get(key.Running())
	}

	if err == nil && !ok {
		data, ok, err = s.db.Get(key.Ended())
	}

	if err != nil {
		return nil, nil, fmt.Errorf("read execution %d: %w", key.ID, err)
	}

	if !ok {
		return nil, nil, requests.ErrNoExecution
	}

	st, err := execution.ReadState(data)
	if err != nil {
		return nil, nil, fmt.Errorf("read execution %d: %w", key.ID, err)
	}

	return data, st, nil
}
