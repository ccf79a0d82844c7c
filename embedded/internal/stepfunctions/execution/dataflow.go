package execution

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// selectPath applies InputPath, OutputPath or ItemsPath. A path that matches a place several times can
// select more than a document may have.
func (t *turn) selectPath(th *thread, f asl.PathField, doc *Doc) (*Doc, error) {
	switch {
	case f.Null:
		// A path of null selects nothing.
		return &Doc{JSON: []byte("{}")}, nil
	case f.Path == nil:
		return doc, nil
	}

	v, err := f.Path.Evaluate(t.scope(th, doc.JSON))
	if err != nil {
		return nil, t.invalidPath(th, f.Path, err)
	}

	return t.checkSize(th, v)
}

// applyPayload evaluates a payload. Without one it returns the document.
func (t *turn) applyPayload(th *thread, p *asl.Payload, doc *Doc) (*Doc, error) {
	switch {
	case p == nil:
		return doc, nil
	case p.Query != nil:
		return t.evaluate(th, p, t.query(th, doc))
	default:
		return t.applyTemplate(th, p.Path, doc)
	}
}

// applyTemplate evaluates a template of JSONPath. Without one it returns the document.
func (t *turn) applyTemplate(th *thread, template *jsonpath.Template, doc *Doc) (*Doc, error) {
	if template == nil {
		return doc, nil
	}

	v, err := template.Evaluate(t.scope(th, doc.JSON))
	if err != nil {
		return nil, t.expressionFailure(th, doc, err)
	}

	return t.checkSize(th, v)
}

// sizeCause is the cause of a failure by the size of a document.
const sizeCause = "The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit."

// checkSize fails for a document over the service's limit.
func (t *turn) checkSize(th *thread, v []byte) (*Doc, error) {
	if len(v) > MaxDocument {
		return nil, &failure{name: dataLimitError, cause: fmt.Sprintf(sizeCause, t.state(th).Name)}
	}

	return &Doc{JSON: v}, nil
}

// complete takes a state's result through Assign, ResultSelector, ResultPath and
// OutputPath, and leaves the state.
func (t *turn) complete(th *thread, raw, result *Doc) error {
	s := t.state(th)

	if s.Kind == asl.Task {
		t.inspect("result", result)
	}

	if s.JSONata {
		return t.completeQuery(th, raw, result, s.Next)
	}

	// Assign comes before ResultSelector: in Assign, $ is the whole result.
	assigned, err := t.assign(th, s.Assign, result)
	if err != nil {
		return err
	}

	result, err = t.applyTemplate(th, s.ResultSelector, result)
	if err != nil {
		return err
	}

	t.inspect("afterResultSelector", result)

	out, err := t.applyResultPath(th, s.ResultPath, raw, result)
	if err != nil {
		return err
	}

	t.inspect("afterResultPath", out)

	return t.leave(th, s, out, assigned, s.Next)
}

// applyResultPath puts the result into the state's raw input.
func (t *turn) applyResultPath(th *thread, f asl.ResultField, raw, result *Doc) (*Doc, error) {
	switch {
	case f.Null:
		return raw, nil
	case f.Path == nil:
		return result, nil
	}

	v, err := f.Path.Put(raw.JSON, result.JSON)
	if err != nil {
		return nil, &failure{
			name:  "States.ResultPathMatchFailure",
			cause: fmt.Sprintf("Unable to apply ResultPath '%s' of the state '%s' to its input", f.Path, t.state(th).Name),
		}
	}

	return t.checkSize(th, v)
}

// leave applies OutputPath and moves on to next, or ends the thread. assigned holds new
// values of variables, which OutputPath does not see yet.
func (t *turn) leave(th *thread, s *asl.State, out *Doc, assigned []byte, next *asl.State) error {
	out, err := t.selectPath(th, s.OutputPath, out)
	if err != nil {
		return err
	}

	return t.exit(th, out, assigned, next)
}

// exit records that the thread leaves its state with an output, and continues with next.
// Without next it ends the branch, the iteration or the execution.
func (t *turn) exit(th *thread, out *Doc, assigned []byte, next *asl.State) error {
	t.recordOn(th, Event{Type: StateExited, Doc: out, Assigned: assigned})

	// The history is full. end fails the execution.
	if t.exhausted {
		return nil
	}

	// StateExited, which has just been recorded, holds the values.
	th.setVariables(assigned, Ref{Chunk: t.chunk, ID: th.last})

	th.next, th.running, th.results = 0, 0, nil
	if next != nil {
		th.state, th.phase, th.input = next.Ordinal, ready, out.Ref
		t.work = append(t.work, workItem{th: th, doc: out, enter: true})

		return nil
	}

	if th.parent != 0 {
		return t.endChild(th, out)
	}

	t.record(Event{Type: ExecutionSucceeded, Prev: th.last, State: -1, Doc: out})
	t.s.Output = out.Ref
	t.finish(Succeeded, "", "")

	return nil
}
