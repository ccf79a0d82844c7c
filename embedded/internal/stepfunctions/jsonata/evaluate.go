package jsonata

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ratchet/embedded/internal/stepfunctions/places"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Scope is the environment of the expressions of one field. All values are JSON. All expressions of the
// field together have the time limit of one evaluation.
type Scope struct {
	// Input is $states.input. Result and ErrorOutput are nil where they do not exist.
	Input, Result, ErrorOutput []byte
	// Context returns $states.context.
	Context func() []byte
	// Variable returns the value of a variable of the execution.
	Variable func(name string) ([]byte, bool)
	// Now is the time in milliseconds since 1970.
	Now int64
	// Random is the source of $random, $uuid and $shuffle.
	Random *rand.Rand
	// Life ends when no caller waits for the value any more. Nil means never.
	Life context.Context

	deadline time.Time // of all evaluations; zero before the first
}

func (s *Scope) life() context.Context {
	if s.Life == nil {
		return context.Background()
	}

	return s.Life
}

// EvaluationError reports why a field has no value. Text is a sentence about the expression and the field,
// without the state. Field is the argument of Evaluate.
type EvaluationError struct{ Text, Field string }

func (e *EvaluationError) Error() string { return e.Text }

// Evaluate returns the value of the expression as JSON. field is the place of the expression
// in its state, as in "Output/result". It fails with an *EvaluationError, or with an error for which
// places.Interrupted holds.
func (e *Expression) Evaluate(s *Scope, field string) ([]byte, error) {
	value, err := e.run(s)
	switch {
	case places.Interrupted(err):
		return nil, err
	case errors.Is(err, errUnsupported):
		return nil, e.failure(field, "returned an unsupported result type.")
	case err != nil:
		text, coded := evaluatorMessage(err)
		if coded {
			return nil, e.failure(field, "threw an error during evaluation. %s", text)
		}

		return nil, e.failure(field, "threw an error during evaluation: %s", text)
	case value == nil:
		return nil, e.failure(field, "returned nothing (undefined).")
	}

	return value, nil
}

// EvaluateTo is Evaluate for a field whose value must have one kind.
func (e *Expression) EvaluateTo(kind rawjson.Kind, s *Scope, field string) ([]byte, error) {
	value, err := e.Evaluate(s, field)
	if err != nil || rawjson.KindOf(value) == kind {
		return value, err
	}

	want := typeName([]byte{byte(kind)})

	return nil, e.failure(field, "returned an unexpected result type. Expected '%s', but was '%s' for value: %s",
		want, typeName(value), value)
}

// failure returns an error in the service's words.
// Source: LocalStack's recordings of AWS (test_assign_reference_variables, test_base_scenarios).
func (e *Expression) failure(field, format string, args ...any) error {
	const sentence = "The JSONata expression '%s' specified for the field '%s' "

	return &EvaluationError{fmt.Sprintf(sentence, e.source, field) + fmt.Sprintf(format, args...), field}
}

// run evaluates the expression. The value is nil if there is none.
func (e *Expression) run(s *Scope) ([]byte, error) {
	// Compile does not refuse this: JSONata finds such a nesting only when the expression runs.
	if e.found.depth > maxDepth {
		return nil, errDepth
	}

	bindings, err := e.bindings(s)
	if err != nil {
		return nil, err
	}

	// The wait for a place is over before the time of the evaluation begins.
	if err := s.begin(places.Longest); err != nil {
		return nil, err
	}

	deadline := s.deadline

	type result struct {
		value []byte
		err   error
	}

	// The evaluation has a goroutine of its own: a step that does not end must not keep its
	// caller, who holds the lock of the execution.
	done := make(chan result, 1)
	go func() {
		defer running.Free()

		value, err := e.call(bindings, newBudget(s.life(), deadline))
		done <- result{value, err}
	}()

	// A second later than the deadline, at which the evaluation itself usually ends with a better error.
	late := time.NewTimer(time.Until(deadline) + time.Second)
	defer late.Stop()

	select {
	case r := <-done:
		return r.value, r.err
	case <-s.life().Done():
		return nil, s.life().Err()
	case <-late.C:
		return nil, errTime
	}
}

// call calls gnata, whose panics become errors.
func (e *Expression) call(bindings map[string]any, limits *budget) (value []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("the evaluation has failed: %v", r)
		}
	}()

	v, err := e.program.EvalWithVars(limits, nil, bindings)
	switch {
	// gnata may have replaced the error of the limit by another one.
	case limits.err != nil:
		return nil, limits.err
	case err != nil:
		return nil, err
	case v == nil:
		return nil, nil
	// JSON has no functions.
	case isFunction(v):
		return nil, errUnsupported
	}

	return encode(v)
}

// bindings returns the functions and variables that an evaluation sees beside the language's.
func (e *Expression) bindings(s *Scope) (map[string]any, error) {
	all := library().bindings(s)

	states, err := e.states(s)
	if err != nil {
		return nil, err
	}

	all["states"] = states
	for _, name := range e.found.read {
		// A variable without a value is undefined in JSONata and no error.
		value, ok := s.Variable(name)
		if !ok {
			continue
		}

		if all[name], err = decode(value); err != nil {
			return nil, err
		}
	}

	return all, nil
}

// states returns $states with the members that the expression reads.
func (e *Expression) states(s *Scope) (any, error) {
	text := []byte{'{'}
	// Members that the expression does not read are not decoded: the context object can be large.
	add := func(name string, value func() []byte) {
		if !e.found.reads(name) {
			return
		}

		v := value()
		if v == nil {
			return
		}

		if len(text) > 1 {
			text = append(text, ',')
		}

		text = append(append(rawjson.AppendText(text, name), ':'), v...)
	}

	add("input", func() []byte { return s.Input })
	add("result", func() []byte { return s.Result })
	add("errorOutput", func() []byte { return s.ErrorOutput })
	add("context", s.Context)

	return decode(append(text, '}'))
}
