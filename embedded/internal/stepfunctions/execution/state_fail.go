package execution

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// failState fails with the state's error and cause.
func (t *turn) failState(th *thread, s *asl.State, raw *Doc) error {
	f := &failure{}
	for _, field := range []struct {
		name string
		from asl.TextField
		to   *string
	}{
		{name: "ErrorPath", from: s.Error, to: &f.name},
		{name: "CausePath", from: s.Cause, to: &f.cause},
	} {
		*field.to = field.from.Value
		if field.from.Query != nil {
			var err error
			// In JSONata the fields are called Error and Cause.
			if *field.to, err = t.queryText(th, strings.TrimSuffix(field.name, "Path"), field.from.Query, raw); err != nil {
				return err
			}
		}

		if field.from.Expression == nil {
			continue
		}

		v, err := field.from.Expression.Evaluate(t.scope(th, raw.JSON))
		if err != nil {
			return t.expressionFailure(th, raw, &jsonpath.FieldError{Field: field.name, Err: err})
		}

		text, ok := rawjson.Text(v)
		if !ok {
			return t.runtimeFailure(th, "ErrorPath and CausePath must lead to a string.")
		}

		*field.to = text
	}

	return f
}
