package execution

import (
	"errors"
	"fmt"

	"ratchet/embedded/internal/stepfunctions/asl"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// choose leaves a Choice for the target of the first rule that holds.
func (t *turn) choose(th *thread, s *asl.State, in *Doc) error {
	scope := t.scope(th, in.JSON)
	for i := range s.Choices {
		holds, err := s.Choices[i].Condition.Holds(scope)
		if err != nil {
			return t.conditionFailure(th, err)
		}

		if holds {
			return t.follow(th, s, in, s.Choices[i].Assign, s.Choices[i].Next)
		}
	}

	if s.Default != nil {
		return t.follow(th, s, in, s.Assign, s.Default)
	}

	const cause = "Failed to transition out of the state '%s'. The state does not point to a next state."

	return &failure{name: "States.NoChoiceMatched", cause: fmt.Sprintf(cause, s.Name)}
}

// follow leaves a Choice or Wait, which have no result, for next: assign sees the input.
func (t *turn) follow(th *thread, s *asl.State, in *Doc, assign *jsonpath.Template, next *asl.State) error {
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
