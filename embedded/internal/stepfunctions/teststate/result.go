package teststate

import (
	"encoding/json"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Result collects what a state under test does. Its zero value is not usable: see [Request.NewResult].
type Result struct {
	in      *Request
	program *asl.Machine

	inspected map[string]string
	texts     map[string]string // "error" and "cause" of a failure

	numbers, details map[string]json.RawMessage // the inspection data's numbers, and its errorDetails
	iterations       *int64                     // the number of a Map's iterations; nil until its items are known

	left     bool // the state has ended
	output   []byte
	next     string
	assigned []byte
}

// NewResult returns an empty result of a request, whose state is compiled.
func (in *Request) NewResult(program *asl.Machine) *Result {
	return &Result{
		in: in, program: program, inspected: map[string]string{}, texts: map[string]string{},
		numbers: map[string]json.RawMessage{}, details: map[string]json.RawMessage{},
	}
}

// Inspect keeps the values of the state's fields. Values of the states after it do not count.
func (r *Result) Inspect(field string, value []byte) {
	if r.left {
		return
	}

	switch field {
	case "error", "cause":
		r.texts[field] = string(value)
	case "maxConcurrency", "toleratedFailureCount", "toleratedFailurePercentage":
		r.numbers[field] = value
	case "catchIndex", "retryIndex", "retryBackoffIntervalSeconds":
		r.details[field] = value
	case "iterations":
		n, _ := rawjson.Int(value)
		r.iterations = &n
	case "input":
		// A second input is the next state's: the state under test has ended.
		if _, again := r.inspected[field]; again {
			r.left = true
			return
		}

		fallthrough
	default:
		r.inspected[field] = string(value)
	}
}

// CheckIterations fails if the request says that more iterations failed than there are. How many there are is known
// only after the run.
func (r *Result) CheckIterations() error {
	if r.iterations != nil && r.in.StateConfiguration.Failures() > *r.iterations {
		return validation("Map iteration failure count must be less than or equal to the number of Map iterations")
	}

	return nil
}

// Follow looks for the end of the state in a turn and reports whether it has ended.
func (r *Result) Follow(turn *execution.Turn) bool {
	for i := range turn.Events {
		e := &turn.Events[i]
		switch {
		// State 0 is the state under test. Other states are followed only to learn which
		// state is next.
		case r.output == nil && e.Type == execution.StateExited && e.State == 0:
			r.output, r.assigned, r.left = e.Doc.JSON, e.Assigned, true
		case r.output != nil && e.Type == execution.StateEntered:
			r.next = r.program.States[e.State].Name
			return true
		}
	}

	return r.output != nil
}

// Answer returns the answer of TestState. retries is set if the state waits for its next attempt.
func (r *Result) Answer(retries bool) map[string]any {
	answer := map[string]any{"status": r.status(retries)}
	for field, text := range r.texts {
		if text != "" {
			answer[field] = text
		}
	}

	if r.output != nil {
		answer["output"] = string(r.output)
	}

	if r.next != "" {
		answer["nextState"] = r.next
	}

	if level := r.in.InspectionLevel; level == "DEBUG" || level == "TRACE" {
		answer["inspectionData"] = r.inspection()
	}

	return answer
}

func (r *Result) status(retries bool) string {
	_, failed := r.texts["error"]
	switch {
	case !failed:
		return "SUCCEEDED"
	case r.output != nil:
		return "CAUGHT_ERROR"
	case retries:
		return "RETRIABLE"
	default:
		return "FAILED"
	}
}

// inspection returns the inspection data: the values of the state's
// fields, and the variables after the state.
func (r *Result) inspection() map[string]any {
	data := map[string]any{}
	for field, text := range r.inspected {
		data[field] = text
	}

	for field, number := range r.numbers {
		data[field] = number
	}

	if len(r.details) > 0 {
		data["errorDetails"] = r.details
	}

	// The service leaves out the fields that a literal Result makes pointless.
	if r.program.Flow.Start.Result != nil {
		delete(data, "afterInputPath")
		delete(data, "afterParameters")
	}

	variables := []byte("{}")
	if r.in.Variables != "" {
		variables = []byte(r.in.Variables)
	}

	if r.assigned != nil {
		variables = rawjson.Merge(variables, r.assigned)
	}

	if rawjson.Len(variables) > 0 {
		data["variables"] = string(variables)
	}

	return data
}
