package execution

import "ratchet/embedded/internal/stepfunctions/asl"

// pass completes a Pass with its literal result or with its input.
func (t *turn) pass(th *thread, s *asl.State, raw, in *Doc) error {
	result, err := t.applyPayload(th, s.Parameters, in)
	if err != nil {
		return err
	}

	t.inspect("afterParameters", result)

	if s.Result != nil {
		result = &Doc{JSON: s.Result}
		t.inspect("result", result)
	}

	// A literal Result can be as long as a definition.
	if result, err = t.checkSize(th, result.JSON); err != nil {
		return err
	}

	return t.complete(th, raw, result)
}
