package actions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"ratchet/once/actions"
)

// Point 39: of cancel, consume and expire exactly one wins.
func TestPoint39_OneOfCancelConsumeAndExpireWins(t *testing.T) {
	s := newSignedActions(t)
	for range 40 {
		made := s.make(t, nil)
		ahead := s.with(t, func(c *actions.Config) { c.Now = func() time.Time { return s.clock.Now().Add(time.Hour) } })
		results := make([]actions.Result, 9)
		each(len(results), func(i int) {
			var err error
			switch i % 3 {
			case 0:
				results[i], err = s.Consume(t.Context(), actions.Request{ID: made.ID})
			case 1:
				results[i], err = s.Cancel(t.Context(), made.ID)
			case 2: // a caller whose clock is past the expiry
				results[i], err = ahead.Consume(t.Context(), actions.Request{ID: made.ID})
			}

			if err != nil {
				t.Error(err)
			}
		})

		end, _, err := s.Get(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}

		used, winners := 0, map[actions.Outcome]bool{}
		for _, r := range results {
			if r.Outcome == actions.Consumed {
				used++
			} else {
				winners[r.Outcome] = true
			}
		}

		want := map[actions.State]actions.Outcome{"consumed": actions.AlreadyUsed, "canceled": actions.Canceled, "expired": actions.Expired}[end.State]
		if len(winners) != 1 || !winners[want] || (used == 1) != (end.State == "consumed") || used > 1 {
			t.Errorf("it ended %s, %d consumed it, the others got %v", end.State, used, winners)
		}
	}
}

func TestPoint39_CancelIsIdempotentAndAfterUseAConflict(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, withPIN)
	first, err := s.Cancel(t.Context(), made.ID)
	outcome(t, first, err, actions.Canceled)
	s.clock.Advance(2 * time.Hour)
	again, err := s.Cancel(t.Context(), made.ID)
	outcome(t, again, err, actions.Canceled)

	if body(t, first) != body(t, again) || !again.Replayed || first.CanceledAt.IsZero() {
		t.Errorf("first %s, again %s", body(t, first), body(t, again))
	}
	used := s.make(t, withPIN)
	s.want(t, actions.Request{ID: used.ID, PIN: "1234"}, actions.Consumed)

	r, err := s.Cancel(t.Context(), used.ID)
	if outcome(t, r, err, actions.AlreadyUsed); r.ConsumedAt.IsZero() {
		t.Errorf("the owner must learn the time: %+v", r)
	}
	late := s.make(t, nil)
	s.clock.Advance(2 * time.Hour)
	r, err = s.Cancel(t.Context(), late.ID)
	outcome(t, r, err, actions.Expired)
	pending := s.make(t, func(spec *actions.Spec) { spec.ActiveAt = s.clock.Now().Add(time.Minute) })
	r, err = s.Cancel(t.Context(), pending.ID)
	outcome(t, r, err, actions.Canceled)
	r, err = s.Cancel(t.Context(), "act_unknown")
	outcome(t, r, err, actions.NotFound)
}

func TestPoint39_ALostAnswerToCancelIsRecognized(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, nil)
	s.loseAnswers(2)
	r, err := s.Cancel(t.Context(), made.ID)
	outcome(t, r, err, actions.Canceled)
}

// Point 40: reserve, then consume or release, with holder and fence.
func TestPoint40_AHoldKeepsOthersOutUntilItRunsOut(t *testing.T) {
	s := newSignedActions(t)
	for name, setup := range map[string]func(*actions.Spec){"without a PIN": nil, "with a PIN": withPIN} {
		made := s.make(t, setup)
		reserve := func(holder string) (actions.Result, error) {
			return s.Reserve(t.Context(), actions.Request{ID: made.ID, PIN: "1234", Holder: holder}, time.Minute)
		}
		first, err := reserve("anna")
		outcome(t, first, err, actions.Reserved)

		again, err := reserve("anna")
		if outcome(t, again, err, actions.Reserved); body(t, first) != body(t, again) || first.Fence != 1 {
			t.Errorf("%s: first %s, again %s", name, body(t, first), body(t, again))
		}
		r, err := reserve("bert")
		outcome(t, r, err, actions.Held)
		s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Held)
		s.clock.Advance(time.Minute) // the hold has run out for anna, but not yet for others, whose clocks may be ahead
		s.want(t, actions.Request{ID: made.ID, PIN: "1234", Holder: "anna", Fence: 1}, actions.HoldLost)
		r, err = reserve("bert")
		outcome(t, r, err, actions.Held)
		s.clock.Advance(3 * time.Second)

		r, err = reserve("bert")
		if outcome(t, r, err, actions.Reserved); r.Fence != 2 {
			t.Errorf("%s: fence %d", name, r.Fence)
		}
		s.want(t, actions.Request{ID: made.ID, PIN: "1234", Holder: "anna", Fence: 1}, actions.HoldLost)
		s.want(t, actions.Request{ID: made.ID, PIN: "1234", Holder: "bert", Fence: 1}, actions.HoldLost)
		r, err = s.Release(t.Context(), actions.Request{ID: made.ID, Holder: "anna", Fence: 1})
		outcome(t, r, err, actions.HoldLost)

		used := actions.Request{ID: made.ID, PIN: "1234", Holder: "bert", Fence: 2, ConsumeID: "c"}
		won := s.want(t, used, actions.Consumed)
		if again := s.want(t, used, actions.Consumed); body(t, again) != body(t, won) {
			t.Errorf("%s: %s, again %s", name, body(t, won), body(t, again))
		}

		if v, _, err := s.Get(t.Context(), made.ID); err != nil || (setup != nil && v.AttemptsLeft != 1) {
			t.Errorf("%s: two holders, one try each: %+v, %v", name, v, err)
		}
	}
}

func TestPoint40_AReleasedHoldIsFreeAtOnce(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, withPIN)
	r, err := s.Reserve(t.Context(), actions.Request{ID: made.ID, PIN: "0000", Holder: "anna"}, time.Minute)
	outcome(t, r, err, actions.InvalidPIN)
	r, err = s.Reserve(t.Context(), actions.Request{ID: made.ID, PIN: "1234", Holder: "anna"}, time.Minute)
	outcome(t, r, err, actions.Reserved)
	s.loseAnswers(2)

	for range 2 {
		r, err = s.Release(t.Context(), actions.Request{ID: made.ID, Holder: "anna", Fence: 1})
		if outcome(t, r, err, actions.Released); body(t, r) != `{"outcome":"released"}` {
			t.Error(body(t, r))
		}
	}
	s.want(t, actions.Request{ID: made.ID, PIN: "1234", Holder: "anna", Fence: 1}, actions.HoldLost)
	s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Consumed)
	r, err = s.Release(t.Context(), actions.Request{ID: made.ID, Holder: "anna", Fence: 1})
	outcome(t, r, err, actions.AlreadyUsed)
}

func TestPoint40_AHoldEndsWithItsActionAndYieldsToItsOwner(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, nil)
	r, err := s.Reserve(t.Context(), actions.Request{ID: made.ID, Holder: "anna"}, 24*time.Hour)
	if outcome(t, r, err, actions.Reserved); !r.HeldUntil.Equal(start.Add(time.Hour)) {
		t.Errorf("held until %s", r.HeldUntil)
	}
	r, err = s.Cancel(t.Context(), made.ID)
	outcome(t, r, err, actions.Canceled)
	s.want(t, actions.Request{ID: made.ID, Holder: "anna", Fence: 1}, actions.Canceled)

	made = s.make(t, nil)
	r, err = s.Reserve(t.Context(), actions.Request{ID: made.ID, Holder: "anna"}, 24*time.Hour)
	outcome(t, r, err, actions.Reserved)
	s.clock.Advance(time.Hour)
	s.want(t, actions.Request{ID: made.ID, Holder: "anna", Fence: 1}, actions.Expired)
}

// Point 41: reading never consumes. The time in which the winner may repeat can be limited.
func TestPoint41_ReadingNeverConsumes(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, withPIN)
	for range 20 {
		v, found, err := s.Get(t.Context(), made.ID)
		if err != nil || !found || v.State != "active" || v.AttemptsLeft != 3 || string(v.Payload) == "" {
			t.Fatalf("%+v, %v, %v", v, found, err)
		}

		if public, err := json.Marshal(v.Public()); err != nil || string(public) != fmt.Sprintf(`{"id":%q,"state":"active","pinRequired":true}`, string(made.ID)) {
			t.Fatalf("without the PIN the public view is %s, %v", public, err)
		}
	}
	s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Consumed)

	if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.State != "consumed" || !v.ConsumedAt.Equal(start) {
		t.Errorf("%+v, %v", v, err)
	}

	plain := s.make(t, func(s *actions.Spec) { s.ActiveAt = start.Add(time.Minute) })
	if v, _, err := s.Get(t.Context(), plain.ID); err != nil || v.State != "pending" || v.Public().Payload != nil || v.Public().ActiveAt.IsZero() {
		t.Errorf("%+v, %v", v, err)
	}

	if _, found, err := s.Get(t.Context(), "act_unknown"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestPoint41_TheReplayWindowIsForTheWinnerOnly(t *testing.T) {
	s := newSignedActions(t)
	s.reopen(t, func(c *actions.Config) { c.ReplayFor = time.Minute })
	made := s.make(t, nil)
	winner := actions.Request{ID: made.ID, ConsumeID: "winner"}
	s.want(t, winner, actions.Consumed)
	s.clock.Advance(time.Minute)
	s.want(t, winner, actions.Consumed)
	s.want(t, actions.Request{ID: made.ID, ConsumeID: "other"}, actions.AlreadyUsed)
	s.clock.Advance(time.Second)
	s.want(t, winner, actions.AlreadyUsed)
}

// Point 42: outcomes stay the same after TTL has deleted the item, and an old id never names
// a new action.
func TestPoint42_AfterTheSweepALateCallIsExpired(t *testing.T) {
	s := newSignedActions(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	used, unused := s.make(t, nil), s.make(t, nil)
	s.want(t, actions.Request{ID: used.ID, ConsumeID: "c"}, actions.Consumed)
	s.clock.Advance(2*time.Hour - time.Millisecond)
	s.want(t, actions.Request{ID: used.ID, ConsumeID: "c"}, actions.Consumed)
	s.want(t, actions.Request{ID: unused.ID}, actions.Expired)
	s.clock.Advance(time.Millisecond) // the retention is over, whether TTL has deleted the item or not

	for _, swept := range []bool{false, true} {
		if swept {
			s.sweep(t)
		}

		for _, id := range []actions.ID{used.ID, unused.ID} {
			if r := s.want(t, actions.Request{ID: id, ConsumeID: "c"}, actions.Expired); r.Outcome.HTTPStatus() != 410 {
				t.Errorf("status %d", r.Outcome.HTTPStatus())
			}
			r, err := s.Cancel(t.Context(), id)
			outcome(t, r, err, actions.Expired)

			if v, found, err := s.Get(t.Context(), id); err != nil || !found || v.State != "expired" {
				t.Errorf("swept %v: %+v, %v, %v", swept, v, found, err)
			}
		}
	}
}

func TestPoint42_AnIDNamesOneActionOnly(t *testing.T) {
	s := newSignedActions(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	spec := actions.Spec{RequestID: "r-1", Payload: json.RawMessage(`1`), PIN: "1234", ExpiresAt: start.Add(time.Hour)}

	first, err := s.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}

	again, err := s.Create(t.Context(), spec)
	if err != nil || again.ID != first.ID {
		t.Errorf("a repeat must find the action: %v", err)
	}

	for name, change := range map[string]func(*actions.Spec){
		"payload": func(s *actions.Spec) { s.Payload = json.RawMessage(`2`) },
		"no pin":  func(s *actions.Spec) { s.PIN = "" }, "attempts": func(s *actions.Spec) { s.MaxAttempts = 4 },
		"start": func(s *actions.Spec) { s.ActiveAt = start.Add(time.Minute) }, "end": func(s *actions.Spec) { s.ExpiresAt = start.Add(2 * time.Hour) },
	} {
		other := spec
		if change(&other); true {
			if _, err := s.Create(t.Context(), other); !errors.Is(err, actions.ErrConflict) {
				t.Errorf("another %s: %v", name, err)
			}
		}
	}

	guess := spec
	guess.PIN = "4321"
	if again, err := s.Create(t.Context(), guess); err != nil || again.ID != first.ID || again.AttemptsLeft != 3 {
		t.Errorf("a repeat must not tell whether a guess of the PIN is right: %+v, %v", again, err)
	}
	s.want(t, actions.Request{ID: first.ID, PIN: "4321"}, actions.InvalidPIN) // the first PIN stays
	s.want(t, actions.Request{ID: first.ID, PIN: "1234"}, actions.Consumed)

	if again, err := s.Create(t.Context(), spec); err != nil || again.State != "consumed" {
		t.Errorf("a late repeat must not reopen the action: %+v, %v", again, err)
	}
	s.clock.Advance(90 * time.Minute)

	if again, err := s.Create(t.Context(), spec); err != nil || again.State != "consumed" || !again.Repeated {
		t.Errorf("a repeat after the expiry must find the action: %+v, %v", again, err)
	}

	other := spec
	other.Payload = nil
	if _, err := s.Create(t.Context(), other); !errors.Is(err, actions.ErrConflict) {
		t.Errorf("another payload after the expiry: %v", err)
	}
	s.clock.Advance(90 * time.Minute)
	s.sweep(t)

	if _, err := s.Create(t.Context(), spec); !errors.Is(err, actions.ErrInvalid) {
		t.Errorf("after its expiry the action must not be made again: %v", err)
	}
	s.want(t, actions.Request{ID: first.ID, PIN: "1234"}, actions.Expired)
	// After the retention the request id may name another action, whether TTL has deleted
	// the old item or not. The old id does not name the new action.
	spec.ExpiresAt = s.clock.Now().Add(time.Minute)
	if _, err := s.Create(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * time.Hour) // past the retention, and not deleted
	spec.ExpiresAt = s.clock.Now().Add(time.Hour)
	spec.RequestID = "r-1"

	second, err := s.Create(t.Context(), spec)
	if err != nil || second.ID == first.ID {
		t.Fatal(err)
	}
	s.want(t, actions.Request{ID: first.ID, PIN: "1234"}, actions.Expired)

	if r, err := s.Cancel(t.Context(), first.ID); err != nil || r.Outcome != actions.Expired {
		t.Errorf("%+v, %v", r, err)
	}

	if v, found, err := s.Get(t.Context(), first.ID); err != nil || !found || v.State != "expired" {
		t.Errorf("%+v, %v, %v", v, found, err)
	}
	s.want(t, actions.Request{ID: second.ID, PIN: "1234"}, actions.Consumed)
	// The signing key may have been rotated between a creation and its repeat.
	spec.ExpiresAt, spec.RequestID = s.clock.Now().Add(time.Hour), "r-2"

	old, err := s.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s.keys = append([]actions.Key{actions.NewKey(2)}, s.keys...)
	s.reopen(t, func(*actions.Config) {})

	if _, err := s.Create(t.Context(), spec); err != nil {
		t.Error(err)
	}
	s.want(t, actions.Request{ID: old.ID, PIN: "1234"}, actions.Consumed)

	if again, err := s.Create(t.Context(), spec); err != nil || again.State != "consumed" {
		t.Errorf("both keys must find one action: %+v, %v", again, err)
	}
}

func TestPoint42_AChosenCodeIsNeverFreeAgain(t *testing.T) {
	s := newSignedActions(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	spec := actions.Spec{Code: "summer 24", Payload: json.RawMessage(`{"off":10}`), ExpiresAt: start.Add(time.Hour)}

	made, err := s.Create(t.Context(), spec)
	if err != nil || made.ID != "SUMMER-24" {
		t.Fatalf("%q, %v", string(made.ID), err)
	}
	s.want(t, actions.Request{ID: "Summer-24"}, actions.Consumed)
	s.want(t, actions.Request{ID: "WINTER-24"}, actions.NotFound)
	s.clock.Advance(10000 * time.Hour)
	s.sweep(t)
	s.want(t, actions.Request{ID: "SUMMER-24"}, actions.AlreadyUsed)

	spec.ExpiresAt = s.clock.Now().Add(time.Hour)
	if _, err := s.Create(t.Context(), spec); !errors.Is(err, actions.ErrConflict) {
		t.Errorf("the code must never be free again: %v", err)
	}
}
