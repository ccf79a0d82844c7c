package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Register adds an activity to a worker before Run, with fn as its handler; a.Handle is
// not used. See Typed for the input.
func Register[In, Out any](w *Worker, a Activity, fn func(context.Context, In) (Out, error)) error {
	a.Handle = Typed(fn)
	return w.register(a)
}

// Typed makes a handler of a function with typed input and output. The input is decoded
// strictly: a task whose input has unknown members, or data after the end of the JSON, fails as
// InvalidInput, and fn is not called. In fn, TaskFrom returns the task itself.
func Typed[In, Out any](fn func(context.Context, In) (Out, error)) HandlerFunc {
	return func(ctx context.Context, t Task) (any, error) {
		var in In
		if err := decode(t.Input, &in); err != nil {
			return nil, &Error{own: nameInput, Err: fmt.Errorf("input of %s: %w", t.Activity, err)}
		}

		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}

		return out, nil
	}
}

func decode(input json.RawMessage, in any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()

	if err := d.Decode(in); err != nil {
		return err
	}

	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end")
	}

	return nil
}
