package execution

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/asl"
)

// choose leaves a Choice for the target of the first rule that holds.
func (t *turn) choose(th *thread, s *asl.State, in *Doc) error {
	scope := t.scope(th, in.JSON)
	for i := range s.Choices {
		holds, err := s.Choices[i].Condition.Holds(scope)
		if err != nil {
			return t.runtimeFailure(th, "%v: The choice state's condition path references an invalid value.", err)
		}

		if holds {
			return t.leave(th, s, in, s.Choices[i].Next)
		}
	}

	if s.Default != nil {
		return t.leave(th, s, in, s.Default)
	}

	const cause = "Failed to transition out of the state '%s'. The state does not point to a next state."

	return &failure{name: "States.NoChoiceMatched", cause: fmt.Sprintf(cause, s.Name)}
}
