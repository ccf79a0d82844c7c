package execution

import (
	"fmt"
	"slices"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// maxVariables is the size of all variables of an execution, in bytes. The variables that a single Assign
// sets have at most MaxDocument bytes.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
const maxVariables = 10 << 20

// variable is a variable of a thread. The event ref has its value.
type variable struct {
	name string
	ref  Ref
	size int64 // of the value, in bytes
}

// assign evaluates an Assign, in which $ is data, and returns the new values as an object; nil without an
// Assign. Variables in the template have their old values.
func (t *turn) assign(th *thread, assign *asl.Payload, data *Doc) ([]byte, error) {
	if assign == nil {
		return nil, nil
	}

	v, err := assign.Path.Evaluate(t.scope(th, data.JSON))
	if err != nil {
		return nil, t.expressionFailure(th, data, err)
	}

	return t.checkVariables(th, v)
}

// checkVariables returns the new values of variables, nil for none. It fails if they are too large.
func (t *turn) checkVariables(th *thread, v []byte) ([]byte, error) {
	if rawjson.Len(v) == 0 {
		return nil, nil
	}

	if _, err := t.checkSize(th, v); err != nil {
		return nil, err
	}

	if t.variableBytes(th, v) > maxVariables {
		const cause = "%sThe variables of the execution exceed the limit of %d bytes."

		return nil, &failure{name: dataLimitError, cause: fmt.Sprintf(cause, t.causePrefix(th), maxVariables)}
	}

	return v, nil
}

// variableBytes returns the size of all variables of the execution once th has new values.
func (t *turn) variableBytes(th *thread, assigned []byte) int64 {
	total := int64(len(assigned))
	for _, other := range t.s.threads {
		// The old value of a variable that gets a new one does not count.
		for _, v := range other.variables {
			if _, replaced := rawjson.Member(assigned, v.name); other == th && replaced {
				continue
			}

			total += v.size
		}
	}

	return total
}

// setVariables gives variables the values of the object assigned, which the event ref has.
func (t *thread) setVariables(assigned []byte, ref Ref) {
	for c := rawjson.Walk(assigned); c.Next(); {
		name, _ := rawjson.Text(c.Key)
		v := variable{name: name, ref: ref, size: int64(len(c.Value))}

		at := slices.IndexFunc(t.variables, func(old variable) bool { return old.name == name })
		if at < 0 {
			t.variables = append(t.variables, v)
			continue
		}

		t.variables[at] = v
	}
}

// variable returns the value of a variable of the thread, or of one around it.
func (t *turn) variable(th *thread, name string) ([]byte, bool) {
	// An inner variable hides an outer one of the same name.
	for ; th != nil; th = t.s.thread(th.parent) {
		for _, v := range th.variables {
			if v.name == name {
				return t.variableValue(v)
			}
		}
	}

	return nil, false
}

func (t *turn) variableValue(v variable) ([]byte, bool) {
	var assigned []byte
	// The events of this turn are not stored yet.
	if v.ref.Chunk == t.chunk {
		assigned = t.events[v.ref.ID-v.ref.Chunk].Assigned
	} else {
		var err error
		if assigned, err = t.env.History.Assigned(v.ref); err != nil && t.err == nil {
			t.err = err
		}
	}

	return rawjson.Member(assigned, v.name)
}
