package actions_test

import (
	"testing"
	"time"

	"ratchet/once/actions"
)

// The numbers of calls that docs/reference/costs.md states.
func TestEveryVerbCostsWhatIsDocumented(t *testing.T) {
	s := newSignedActions(t)
	plain, locked := s.make(t, nil), s.make(t, func(s *actions.Spec) { s.PIN, s.MaxAttempts = "1234", 1 })
	pinned, late, held := s.make(t, withPIN), s.make(t, func(s *actions.Spec) { s.ExpiresAt = start.Add(time.Minute) }), s.make(t, nil)
	calls := func(what string, want int, do func() (actions.Result, error)) {
		t.Helper()
		s.calls()

		r, err := do()
		if err != nil {
			t.Fatal(err)
		}

		if n := s.calls(); n != want {
			t.Errorf("%s (%s): %d calls, documented are %d", what, r.Outcome, n, want)
		}
	}
	consume := func(r actions.Request) func() (actions.Result, error) {
		return func() (actions.Result, error) { return s.Consume(t.Context(), r) }
	}
	calls("consume", 1, consume(actions.Request{ID: plain.ID}))
	calls("refusal", 1, consume(actions.Request{ID: plain.ID}))
	calls("unknown id", 0, consume(actions.Request{ID: "act_x", PIN: "1234"}))
	calls("wrong PIN", 1, consume(actions.Request{ID: locked.ID, PIN: "0000"}))
	calls("locked", 1, consume(actions.Request{ID: locked.ID, PIN: "1234"}))
	calls("no PIN given", 1, consume(actions.Request{ID: pinned.ID}))
	calls("right PIN", 2, consume(actions.Request{ID: pinned.ID, PIN: "1234", ConsumeID: "c"}))
	calls("right PIN again", 1, consume(actions.Request{ID: pinned.ID, PIN: "1234", ConsumeID: "c"}))
	calls("reserve", 1, func() (actions.Result, error) {
		return s.Reserve(t.Context(), actions.Request{ID: held.ID, Holder: "h"}, time.Minute)
	})
	calls("release", 1, func() (actions.Result, error) {
		return s.Release(t.Context(), actions.Request{ID: held.ID, Holder: "h", Fence: 1})
	})
	calls("cancel", 1, func() (actions.Result, error) { return s.Cancel(t.Context(), held.ID) })
	s.clock.Advance(2 * time.Minute)
	calls("first call that finds it expired", 2, consume(actions.Request{ID: late.ID}))
	calls("later ones", 1, consume(actions.Request{ID: late.ID}))
}
