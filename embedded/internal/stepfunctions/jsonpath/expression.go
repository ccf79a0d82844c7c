package jsonpath

import (
	"fmt"
	"strings"
)

// Expression is a path, an intrinsic function call, or, inside a call, a literal.
type Expression struct {
	path    *Path
	call    *call
	literal []byte
	// raw is a string literal with its backslashes: States.Format distinguishes \{ from {.
	raw string
}

// call is a call of an intrinsic function.
type call struct {
	text     string
	function *function
	args     []*Expression
}

// IntrinsicError reports why an intrinsic function failed.
type IntrinsicError struct{ Call, Reason string }

func (e *IntrinsicError) Error() string {
	return fmt.Sprintf("the function '%s' had the following error: %s", e.Call, e.Reason)
}

// maxNesting is the number of intrinsic functions that may be nested.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
const maxNesting = 10

// CompileExpression compiles a path or a call of an intrinsic function.
func CompileExpression(text string) (*Expression, error) {
	p := &parser{s: text}

	var e *Expression
	var err error
	if strings.HasPrefix(text, "States.") {
		e, err = p.call(1)
	} else {
		var path *Path
		path, err = p.path()
		e = &Expression{path: path}
	}

	if err != nil {
		return nil, err
	}

	if p.i != len(text) {
		return nil, p.errorf("unexpected %q", text[p.i])
	}

	return e, nil
}

// Evaluate returns the value of the expression. It fails with a *NotFoundError for a path
// that matches nothing, with an *IntrinsicError for a function that failed, and with another error if that is
// too much work.
func (e *Expression) Evaluate(s *Scope) ([]byte, error) {
	m := s.meter()
	m.enter()
	defer m.leave()

	switch {
	case e.path != nil:
		return e.path.Evaluate(s)
	case e.call == nil:
		return e.literal, nil
	}

	size := 0
	values := make([][]byte, len(e.call.args))

	for i, arg := range e.call.args {
		v, err := arg.Evaluate(s)
		if err != nil {
			return nil, err
		}

		// Every argument may be the whole document, so their sum is bounded before the function sees them.
		if size += len(v); size > maxResult {
			return nil, &IntrinsicError{Call: e.call.text, Reason: fmt.Sprintf("the arguments have more than %d bytes", maxResult)}
		}

		values[i] = v
	}

	out, err := e.call.function.run(s, e.call, values)

	switch {
	case !m.make(len(out)):
		return nil, m.err
	case err != nil:
		return nil, &IntrinsicError{Call: e.call.text, Reason: err.Error()}
	}

	return out, nil
}
