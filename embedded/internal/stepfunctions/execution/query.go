package execution

import (
	"errors"
	"fmt"
	"strconv"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// query returns the environment of the thread's expressions in JSONata.
func (t *turn) query(th *thread, in *Doc) *jsonata.Scope {
	return &jsonata.Scope{
		Input:    in.JSON,
		Context:  func() []byte { return t.context(th) },
		Variable: func(name string) ([]byte, bool) { return t.variable(th, name) },
		Now:      t.now,
		Random:   t.env.Random,
		Life:     t.env.Life,
	}
}

// queryFailure turns an error of an expression in JSONata into a failure. TestState leaves out the event
// at which the state was entered.
// Source: https://github.com/floci-io/floci/issues/2737: answers of TestState on AWS.
func (t *turn) queryFailure(th *thread, err error) error {
	var e *jsonata.EvaluationError
	if !errors.As(err, &e) {
		return err
	}

	return t.queryError(th, e.Field, "%s", e.Text)
}

// maxCause is the number of characters of a cause, as in the API: a cause can quote a value.
const maxCause = 32768

// firstCharacters returns the first n characters of a text.
func firstCharacters(text string, n int) string {
	for at := range text {
		if n == 0 {
			return text[:at]
		}

		n--
	}

	return text
}

// queryError returns the States.QueryEvaluationError of a field, or of the input for "".
func (t *turn) queryError(th *thread, field, format string, args ...any) *failure {
	cause := fmt.Sprintf(format, args...)
	if t.env.Inspect == nil {
		cause = t.causePrefix(th) + cause
	}

	return &failure{name: queryError, cause: firstCharacters(cause, maxCause), evaluated: true, location: field}
}

// dataFailure is the failure of a field whose value the field cannot use. In JSONata it is an error of the
// query, in JSONPath of the engine.
func (t *turn) dataFailure(th *thread, field, format string, args ...any) *failure {
	if t.state(th).JSONata {
		return t.queryError(th, field, format, args...)
	}

	return t.runtimeFailure(th, format, args...)
}

// evaluate returns the value of a payload in JSONata.
func (t *turn) evaluate(th *thread, p *asl.Payload, s *jsonata.Scope) (*Doc, error) {
	v, err := p.Query.Evaluate(s, p.Field)
	if err != nil {
		return nil, t.queryFailure(th, err)
	}

	return t.checkSize(th, v)
}

// queryNumber returns the integer to which an expression evaluates.
func (t *turn) queryNumber(th *thread, field string, e *jsonata.Expression, in *Doc) (int64, error) {
	v, err := e.EvaluateTo(rawjson.Number, t.query(th, in), field)
	if err != nil {
		return 0, t.queryFailure(th, err)
	}

	n, ok := rawjson.Int(v)
	if !ok {
		return 0, t.queryError(th, field, "The %s field cannot be parsed as an integer: %s", field, v)
	}

	return n, nil
}

// queryPercentage returns the number from 0 to 100 to which an expression evaluates.
func (t *turn) queryPercentage(th *thread, field string, e *jsonata.Expression, in *Doc) (float64, error) {
	v, err := e.EvaluateTo(rawjson.Number, t.query(th, in), field)
	if err != nil {
		return 0, t.queryFailure(th, err)
	}

	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n < 0 || n > 100 {
		return 0, t.queryError(th, field, "%s must be between 0 and 100 but was: %s", field, v)
	}

	return n, nil
}

// queryText returns the text to which an expression evaluates.
func (t *turn) queryText(th *thread, field string, e *jsonata.Expression, in *Doc) (string, error) {
	v, err := e.EvaluateTo(rawjson.String, t.query(th, in), field)
	if err != nil {
		return "", t.queryFailure(th, err)
	}

	if _, err := t.checkSize(th, v); err != nil {
		return "", err
	}

	text, _ := rawjson.Text(v)

	return text, nil
}

// completeQuery takes the result of a state in JSONata through Assign and Output, and leaves
// the state. Both see the variables as they were before.
func (t *turn) completeQuery(th *thread, raw, result *Doc, next *asl.State) error {
	s := t.state(th)
	scope := t.query(th, raw)

	out := raw
	if result != nil {
		scope.Result, out = result.JSON, result
	}

	return t.leaveQuery(th, scope, out, s.Assign, s.Output, next)
}

// leaveQuery evaluates an Assign and an Output, and moves on to next with the output, or with
// out if there is no Output.
func (t *turn) leaveQuery(th *thread, scope *jsonata.Scope, out *Doc, assign, output *asl.Payload, next *asl.State) error {
	var assigned []byte
	if assign != nil {
		// Assign and Output both see the old values: exit sets the new ones.
		v, err := t.evaluate(th, assign, scope)
		if err != nil {
			return err
		}

		if assigned, err = t.checkVariables(th, v.JSON); err != nil {
			return err
		}
	}

	if output != nil {
		var err error
		if out, err = t.evaluate(th, output, scope); err != nil {
			return err
		}
	}

	return t.exit(th, out, assigned, next)
}
