package execution

import (
	"errors"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// findCatcher returns the first entry that matches the failure, nil when there is none.
func (t *turn) findCatcher(th *thread, f *failure) *asl.Catcher {
	s := t.state(th)
	for i := range s.Catch {
		if f.matches(s.Catch[i].ErrorEquals) {
			return &s.Catch[i]
		}
	}

	return nil
}

// catch leaves the state for the catcher's target, with the error as its result.
func (t *turn) catch(th *thread, c *asl.Catcher, f *failure) {
	raw, err := t.rawInput(th)
	if err == nil {
		err = t.exitWithError(th, c, raw, &Doc{JSON: f.output()})
	}

	var inner *failure
	switch {
	case err == nil:
	case errors.As(err, &inner):
		// A failure in a catcher must end the execution: no Retry or Catch matches
		// States.Runtime, or a final failure.
		if inner.name == queryError {
			inner.final = true
		} else {
			inner.name = runtimeError
		}

		t.fail(th, inner)
	// Any other error is the engine's and ends the turn.
	default:
		t.err = err
	}
}

// output returns the error as Catch shows it.
func (f *failure) output() []byte {
	text := func(out []byte, s string) []byte {
		if s == "" && f.told {
			return append(out, "null"...)
		}

		return rawjson.AppendText(out, s)
	}

	out := text([]byte(`{"Error":`), f.name)

	return append(text(append(out, `,"Cause":`...), f.cause), '}')
}

// exitWithError leaves the state with the error as the catcher's fields see it.
func (t *turn) exitWithError(th *thread, c *asl.Catcher, raw, failed *Doc) error {
	// JSONata has no ResultPath: Output decides, and without it the error is the output.
	if t.state(th).JSONata {
		scope := t.query(th, raw)
		scope.ErrorOutput = failed.JSON

		return t.leaveQuery(th, scope, failed, c.Assign, c.Output, c.Next)
	}

	assigned, err := t.assign(th, c.Assign, failed)
	if err != nil {
		return err
	}

	out, err := t.applyResultPath(th, c.ResultPath, raw, failed)
	if err != nil {
		return err
	}

	return t.exit(th, out, assigned, c.Next)
}
