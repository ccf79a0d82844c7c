package stepfunctions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
)

// errNoExecution says that there is no such execution.
var errNoExecution = errors.New("the execution does not exist")

// stimulus is what happens to an execution.
type stimulus func(env *execution.Env, st *execution.State) (*execution.Turn, error)

// stimulate applies a stimulus under the execution's lock and makes its effect
// visible. The caller syncs the batch, when there is one, before it answers;
// there may be one beside an error.
func (s *Service) stimulate(key executionKey, apply stimulus) (*store.Batch, error) {
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()

	before, st, err := s.load(key)
	if err != nil {
		return nil, err
	}

	rev, err := s.revision(key.machine, st.Revision)
	if err != nil {
		return nil, err
	}

	turn, applied := apply(s.env(key, st.Name, rev), st)
	if turn == nil {
		return nil, applied
	}

	after := execution.AppendState(nil, st)
	if len(turn.Events) == 0 && bytes.Equal(before, after) {
		s.timers.set(key, st.NextTimer())
		return nil, applied
	}
	batch, err := s.store(key, before, st, after, turn, nil)

	return batch, errors.Join(applied, err)
}

// store writes a turn, and named when it is the first, and lets queues and timers
// know. before is the stored state that the turn began with, nil for none. The
// execution's lock is held.
func (s *Service) store(key executionKey, before []byte, st *execution.State, state []byte, turn *execution.Turn, named []byte) (*store.Batch, error) {
	batch := s.db.NewBatch()
	if before == nil {
		batch.Set(named, binary.BigEndian.AppendUint64(nil, key.id))
	} else if was := execution.StoredStatus(before); was == execution.Running {
		if st.Status != execution.Running {
			batch.Delete(key.running())
		}
	} else if st.Status == execution.Running {
		batch.Delete(key.ended())
		batch.Delete(key.status(was))
	}

	if st.Status == execution.Running {
		batch.Set(key.running(), state)
	} else {
		batch.Set(key.ended(), state)
		batch.Set(key.status(st.Status), nil)
	}

	var chunk int64
	var events []byte
	if len(turn.Events) > 0 {
		events = execution.AppendEvents(nil, turn.Events)
		batch.Set(key.history(turn.Chunk()), events)

		if turn.Documents {
			chunk = turn.Chunk()
		}
	}

	if err := batch.Apply(); err != nil {
		batch.Discard()
		return nil, fmt.Errorf("store a turn of execution %d: %w", key.id, err)
	}

	if st.Status == execution.Running {
		s.recent.put(key, state, chunk, events)
	} else {
		s.recent.remove(key)
	}

	for _, t := range turn.Dequeued {
		s.queue(t.Resource).remove(queued{key, t.Thread, t.Attempt})
	}

	for _, t := range turn.Queued {
		s.queue(t.Resource).put(taskOrder{queued{key, t.Thread, t.Attempt}, int64(t.Queue)})
	}
	s.timers.set(key, st.NextTimer())

	return batch, nil
}

// load reads an execution's state, running or ended, and its stored form.
func (s *Service) load(key executionKey) ([]byte, *execution.State, error) {
	var data []byte
	var err error
	item, ok := s.recent.get(key)
	if data = item.state; !ok {
		data, ok, err = s.db.Get(key.running())
	}

	if err == nil && !ok {
		data, ok, err = s.db.Get(key.ended())
	}

	if err != nil {
		return nil, nil, fmt.Errorf("read execution %d: %w", key.id, err)
	}

	if !ok {
		return nil, nil, errNoExecution
	}

	st, err := execution.ReadState(data)
	if err != nil {
		return nil, nil, fmt.Errorf("read execution %d: %w", key.id, err)
	}

	return data, st, nil
}

// history reads documents of one execution.
type history struct {
	s   *Service
	key executionKey
}

func (h history) Document(ref execution.Ref) ([]byte, error) {
	if item, ok := h.s.recent.get(h.key); ok && item.chunk == ref.Chunk {
		return execution.FindDocument(ref, item.events)
	}

	data, ok, err := h.s.db.Get(h.key.history(ref.Chunk))
	if err != nil {
		return nil, fmt.Errorf("read the history of execution %d: %w", h.key.id, err)
	}

	if !ok {
		return nil, fmt.Errorf("read the history of execution %d: the turn at event %d is missing", h.key.id, ref.Chunk)
	}

	return execution.FindDocument(ref, data)
}

// randomness draws from the runtime's generator, which many goroutines may use.
type randomness struct{}

func (randomness) Uint64() uint64 { return rand.Uint64() } //nolint:gosec // jitter, MathRandom and UUID promise no secrecy

func (s *Service) env(key executionKey, name string, rev *revision) *execution.Env {
	return &execution.Env{
		Machine: rev.program,
		Identity: func() execution.Identity {
			return execution.Identity{
				ARN: s.executionARN(rev.Machine, name), RoleARN: rev.RoleARN,
				MachineARN: s.arn("stateMachine", rev.Machine), MachineName: rev.Machine,
			}
		},
		Now:            time.Now(),
		Random:         s.random,
		History:        history{s, key},
		ActivityExists: s.activityExists,
		Sequence:       func() uint64 { return s.queueOrder.Add(1) },
	}
}

func (s *Service) activityExists(arn string) bool {
	s.activitiesMu.RLock()
	defer s.activitiesMu.RUnlock()
	_, ok := s.activities[arn[strings.LastIndexByte(arn, ':')+1:]]
	return ok && strings.HasPrefix(arn, s.arn("activity", ""))
}

// queue returns the queue of an activity, which need not exist any more.
func (s *Service) queue(arn string) *queue {
	s.queuesMu.Lock()
	defer s.queuesMu.Unlock()

	q := s.queues[arn]
	if q == nil {
		q = &queue{}
		s.queues[arn] = q
	}

	return q
}
