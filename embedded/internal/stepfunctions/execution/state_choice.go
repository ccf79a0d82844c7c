package execution

import (
	"errors"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// choose leaves a Choice for the target of the first rule that holds.
func (t *turn) choose(th *thread, s *asl.State, in *Doc) error {
	// All rules together are one field.
	scope, query := t.scope(th, in.JSON), t.query(th, in)

	for i := range s.Choices {
		rule := &s.Choices[i]

		holds, err := t.holds(th, rule, scope, query)
		if err != nil {
			return err
		}

		if holds {
			return t.follow(th, s, in, rule.Assign, rule.Output, rule.Next)
		}
	}

	if s.Default != nil {
		return t.follow(th, s, in, s.Assign, s.Output, s.Default)
	}

	const cause = "Failed to transition out of the state '%s'. The state does not point to a next state."

	return &failure{name: "States.NoChoiceMatched", cause: fmt.Sprintf(cause, s.Name)}
}

// holds reports whether a rule of a Choice holds.
func (t *turn) holds(th *thread, rule *asl.Rule, scope *jsonpath.Scope, query *jsonata.Scope) (bool, error) {
	if rule.Query == nil {
		holds, err := rule.Condition.Holds(scope)
		if err != nil {
			return false, t.conditionFailure(th, err)
		}

		return holds, nil
	}

	v, err := rule.Query.Query.EvaluateTo(rawjson.Bool, query, rule.Query.Field)
	if err != nil {
		return false, t.queryFailure(th, err)
	}

	return rawjson.True(v), nil
}

// follow leaves a Choice or Wait for next. These states have no result, so assign and output
// see the input. Only JSONata has an output.
func (t *turn) follow(th *thread, s *asl.State, in *Doc, assign, output *asl.Payload, next *asl.State) error {
	if s.JSONata {
		return t.leaveQuery(th, t.query(th, in), in, assign, output, next)
	}

	assigned, err := t.assign(th, assign, in)
	if err != nil {
		return err
	}

	return t.leave(th, s, in, assigned, next)
}

// conditionFailure is the failure of a rule whose path matches nothing.
func (t *turn) conditionFailure(th *thread, err error) *failure {
	var missing *jsonpath.NotFoundError
	if !errors.As(err, &missing) {
		return t.runtimeFailure(th, "%v", err)
	}

	const cause = "Invalid path '%s': The choice state's condition path references an invalid value."

	return t.runtimeFailure(th, cause, missing.Path)
}
