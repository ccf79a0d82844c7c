package actions_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"ratchet/once/actions"
)

const crowd = 10_000

func TestPoint36_TenThousandConsumersHaveOneWinner(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	s := newSignedActions(t)
	made := s.make(t, nil)
	var won, used, other atomic.Int32
	each(crowd, func(i int) {
		r, err := s.Consume(t.Context(), actions.Request{ID: made.ID, ConsumeID: fmt.Sprint("c-", i)})
		switch {
		case err == nil && r.Outcome == actions.Consumed:
			won.Add(1)
		case err == nil && r.Outcome == actions.AlreadyUsed && !r.ConsumedAt.IsZero():
			used.Add(1)
		default:
			other.Add(1)
			t.Errorf("consumer %d: %+v, %v", i, r, err)
		}
	})

	if won.Load() != 1 || used.Load() != crowd-1 {
		t.Errorf("%d won, %d found it used, %d got something else", won.Load(), used.Load(), other.Load())
	}

	if n := s.calls(); n != crowd {
		t.Errorf("%d calls for %d consumptions, want one write each", n, crowd)
	}
}

func TestPoint38_TenThousandGuessesCompareNoMoreThanTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	s := newSignedActions(t)
	made := s.make(t, func(spec *actions.Spec) { spec.PIN, spec.MaxAttempts = "123456", 5 })
	var compared, locked atomic.Int32
	each(crowd, func(i int) {
		r, err := s.Consume(t.Context(), actions.Request{ID: made.ID, PIN: actions.PIN(fmt.Sprintf("9%05d", i))})
		switch {
		case err != nil:
			t.Error(err)
		case r.Outcome == actions.InvalidPIN:
			compared.Add(1)
		case r.Outcome == actions.Locked:
			locked.Add(1)
		}
	})

	if compared.Load() != 5 || locked.Load() != crowd-5 {
		t.Errorf("%d were compared, %d found it locked", compared.Load(), locked.Load())
	}

	if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.AttemptsLeft != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	s.want(t, actions.Request{ID: made.ID, PIN: "123456"}, actions.Locked)
}
