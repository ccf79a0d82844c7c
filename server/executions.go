package server

import (
	"context"
	"encoding/json"

	"ratchet/operate/executions"
	"ratchet/transitions"
)

func (b *Backend) assembleExecutions() (err error) {
	b.Executions, err = executions.New(executions.Config{
		SFN:        b.SFN,
		Orders:     b.Orders,
		Machine:    b.StateMachineARN,
		Marks:      surveyMarks{b},
		LostParcel: b.lostParcel,
	})

	return err
}

// surveyMarks stores the mark of the surveys beside their results.
type surveyMarks struct{ backend *Backend }

// markNote is the name of the note with the mark.
const markNote = "failed-executions"

// Mark returns the stored mark.
func (m surveyMarks) Mark(ctx context.Context) (mark executions.Mark, err error) {
	text, err := m.backend.Processes.Note(ctx, markNote)
	if err != nil || text == "" {
		return mark, err
	}

	// A mark that cannot be read makes the survey longer.
	if json.Unmarshal([]byte(text), &mark) != nil {
		return executions.Mark{}, nil
	}

	return mark, nil
}

// SetMark stores the next mark.
func (m surveyMarks) SetMark(ctx context.Context, seen, next executions.Mark) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}

	before := ""
	if seen != (executions.Mark{}) {
		known, err := json.Marshal(seen)
		if err != nil {
			return err
		}
		before = string(known)
	}

	return m.backend.Processes.ReplaceNote(ctx, markNote, before, string(text))
}

// Start starts the execution of an order, as [executions.Executions.Start] describes. It fails with
// [ErrStateMachine] if the configured state machine does not fit the definition and the steps.
func (b *Backend) Start(ctx context.Context, stateMachineARN string, order transitions.NewOrder) (executionARN string, err error) {
	if err := b.flow.fit(); err != nil {
		return "", err
	}

	return b.Executions.Start(ctx, stateMachineARN, order)
}

// ExecutionARN returns the ARN that the order's first execution has or will have. It fails with
// [ErrNotInitialized] if there is no state machine.
func (b *Backend) ExecutionARN(ctx context.Context, id transitions.OrderID) (string, error) {
	return b.Executions.ARN(ctx, id)
}
