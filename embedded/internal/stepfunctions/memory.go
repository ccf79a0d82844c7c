package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/stepfunctions/execution"
)

// memory is an execution that is not stored: it lives in one goroutine and ends with it.
type memory struct {
	s     *Service
	env   *execution.Env // Now is the time of the newest stimulus
	state *execution.State
	turns map[int64][]byte // the turns with documents that the state still needs, by first event
	calls []execution.Task // the tasks whose calls wait to be made
}

func (s *Service) newMemory(env *execution.Env, name string) *memory {
	m := &memory{s: s, env: env, state: &execution.State{Name: name}, turns: map[int64][]byte{}}
	env.History = m

	return m
}

// Document returns a document of an earlier turn.
func (m *memory) Document(ref execution.Ref) ([]byte, error) {
	return execution.FindDocument(ref, m.turns[ref.Chunk])
}

// Assigned returns the variables that an event of an earlier turn assigns.
func (m *memory) Assigned(ref execution.Ref) ([]byte, error) {
	return execution.FindAssigned(ref, m.turns[ref.Chunk])
}

// apply applies a stimulus at a time, and returns the turn.
func (m *memory) apply(now time.Time, stimulate stimulus) (*execution.Turn, error) {
	m.env.Now = now

	turn, err := stimulate(m.env, m.state)
	if turn == nil {
		return nil, err
	}

	if turn.Documents {
		m.turns[turn.Chunk()] = execution.AppendEvents(nil, turn.Events)
	}

	// Turns to which no thread refers are dropped, so that a long execution stays small.
	needed := m.state.Chunks()
	for chunk := range m.turns {
		if !needed[chunk] {
			delete(m.turns, chunk)
		}
	}

	// A task that has left the queue needs nothing here: its call is
	// running, or run finds that it has timed out.
	m.calls = append(m.calls, turn.Queued...)

	return turn, err
}

// answer is the answer to a call.
type answer struct {
	task    execution.Task
	output  []byte
	refused *execution.CallFailure
}

// run runs a started execution until it ends. Its calls run side by side. It fails when ctx
// ends or the engine has a fault, and then leaves no call behind.
func (m *memory) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answer)
	open := 0

	// Each call sends one answer. They are received here, so that no call outlives the execution.
	defer func() {
		cancel()

		for ; open > 0; open-- {
			<-answers
		}
	}()

	for m.state.Status == execution.Running {
		for _, task := range m.calls {
			call, err := m.env.Call(m.state, task.Thread, task.Attempt)
			if err != nil {
				// The task has timed out since.
				continue
			}

			open++

			go func() {
				output, refused := m.s.calls.Call(ctx, call, "")
				answers <- answer{task, output, refused}
			}()
		}

		m.calls = nil

		a, err := m.wait(ctx, answers)
		if err != nil {
			return err
		}

		if a == nil {
			_, err = m.apply(m.s.cfg.Clock.Now(), func(e *execution.Env, st *execution.State) (*execution.Turn, error) { return e.Tick(st) })
		} else {
			open--
			err = m.answered(a)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// answered applies the answer to a call. If its task is over, the answer is ignored.
func (m *memory) answered(a *answer) error {
	_, err := m.apply(m.s.cfg.Clock.Now(), func(e *execution.Env, st *execution.State) (*execution.Turn, error) {
		return e.Called(st, a.task.Thread, a.task.Attempt, a.output, a.refused)
	})
	if errors.Is(err, execution.ErrNotScheduled) {
		return nil
	}

	return err
}

// wait waits for an answer or for the execution's next timer; the answer is nil then.
func (m *memory) wait(ctx context.Context, answers <-chan answer) (*answer, error) {
	// Taken before the time of the timer is computed, so that no shift is
	// missed. A tick that comes too early changes nothing.
	shifted := m.s.cfg.Clock.Shifted()

	var timer <-chan time.Time
	if at := m.state.NextTimer(); at != 0 {
		t := time.NewTimer(m.s.cfg.Clock.Until(time.UnixMilli(at)))
		defer t.Stop()

		timer = t.C
	}

	select {
	case a := <-answers:
		return &a, nil
	case <-timer:
		return nil, nil
	case <-shifted:
		return nil, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("execution %s: %w", m.state.Name, ctx.Err())
	}
}
