package actions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/once/actions"
)

// Point 36: of N parallel consumptions one is answered with 200, and its own retry gets the
// same body. The others get 409 with consumedAt.
func TestPoint36_OneConsumerWinsAndItsRetryGetsTheSameBody(t *testing.T) {
	s := newSignedActions(t)
	for name, setup := range map[string]func(*actions.Spec){"without a PIN": nil, "with a PIN": func(s *actions.Spec) { s.PIN, s.MaxAttempts = "1234", 10 }} {
		made := s.make(t, setup)
		consumers := 50
		if setup != nil {
			consumers = 10 // as many as may try the PIN
		}
		results := make([]actions.Result, consumers)
		request := func(i int) actions.Request {
			return actions.Request{ID: made.ID, PIN: "1234", ConsumeID: fmt.Sprintf("consumer-%d", i)}
		}
		each(consumers, func(i int) {
			var err error
			if results[i], err = s.Consume(t.Context(), request(i)); err != nil {
				t.Error(err)
			}
		})

		winner := -1
		for i, r := range results {
			switch {
			case r.Outcome == actions.Consumed && winner < 0:
				winner = i
			case r.Outcome != actions.AlreadyUsed || !r.ConsumedAt.Equal(start) || r.Payload != nil:
				t.Errorf("%s: consumer %d got %+v", name, i, r)
			}
		}

		if winner < 0 {
			t.Fatalf("%s: no consumer won", name)
		}
		s.clock.Advance(time.Minute)

		again := s.want(t, request(winner), actions.Consumed)
		if body(t, again) != body(t, results[winner]) || !again.Replayed || results[winner].Replayed {
			t.Errorf("%s: first %s, again %s", name, body(t, results[winner]), body(t, again))
		}
		s.clock.Advance(-time.Minute)
	}
}

func each(n int, fn func(int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { fn(i) })
	}
	group.Wait()
}

func body(t testing.TB, r actions.Result) string {
	t.Helper()

	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func TestPoint36_AConsumptionWhoseAnswerWasLostIsTheWinners(t *testing.T) {
	s := newSignedActions(t)
	for name, setup := range map[string]func(*actions.Spec){"without a PIN": nil, "with a PIN": withPIN} {
		made := s.make(t, setup)
		s.loseAnswers(2)

		r := s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Consumed)
		if string(r.Payload) != `{"user":"u-1"}` {
			t.Errorf("%s: %+v", name, r)
		}

		if setup != nil {
			if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.AttemptsLeft != 2 {
				t.Errorf("one try must be counted, not %d", 3-v.AttemptsLeft)
			}
		}
	}
}

// Point 37: the outcome follows from one old image in a fixed order, and no field leaks
// before the PIN passes.
func TestPoint37_TheOutcomesHaveAnOrder(t *testing.T) {
	s := newSignedActions(t)
	cancel := func(id actions.ID) {
		r, err := s.Cancel(t.Context(), id)
		outcome(t, r, err, actions.Canceled)
	}
	consume := func(id actions.ID) { s.want(t, actions.Request{ID: id, PIN: "1234"}, actions.Consumed) }

	lock := func(id actions.ID) {
		for range 3 {
			s.want(t, actions.Request{ID: id, PIN: "0000"}, actions.InvalidPIN)
		}
	}
	hold := func(id actions.ID) {
		r, err := s.Reserve(t.Context(), actions.Request{ID: id, PIN: "1234", Holder: "another"}, time.Hour)
		outcome(t, r, err, actions.Reserved)
	}
	late := func(actions.ID) { s.clock.Advance(2 * time.Hour) }
	for _, test := range []struct {
		name   string
		active time.Duration
		steps  []func(actions.ID)
		want   actions.Outcome
	}{
		{name: "canceled before anything else", active: 0, steps: []func(actions.ID){lock, cancel, late}, want: actions.Canceled},
		{name: "used before expired", active: 0, steps: []func(actions.ID){consume, late}, want: actions.AlreadyUsed},
		{name: "expired before locked", active: 0, steps: []func(actions.ID){lock, late}, want: actions.Expired},
		{name: "not active before a wrong PIN", active: time.Minute, steps: nil, want: actions.NotActive},
		{name: "held before a wrong PIN", active: 0, steps: []func(actions.ID){hold}, want: actions.Held},
		{name: "locked before a wrong PIN", active: 0, steps: []func(actions.ID){lock}, want: actions.Locked},
		{name: "a wrong PIN at last", active: 0, steps: nil, want: actions.InvalidPIN},
	} {
		for _, pin := range []actions.PIN{"", "9999"} {
			began := s.clock.Now()

			made := s.make(t, func(spec *actions.Spec) {
				withPIN(spec)

				if test.active != 0 {
					spec.ActiveAt = began.Add(test.active)
				}
			})
			for _, step := range test.steps {
				step(made.ID)
			}

			if r := s.want(t, actions.Request{ID: made.ID, PIN: pin}, test.want); body(t, r) != fmt.Sprintf(`{"outcome":%q}`, test.want) {
				t.Errorf("%s: with PIN %q the answer reveals more than the outcome: %s", test.name, string(pin), body(t, r))
			}
			s.clock.Set(began)
		}
	}
	s.want(t, actions.Request{ID: "act_unknown", PIN: "1234"}, actions.NotFound)
}

func TestPoint37_WithoutAPINTheOutcomeSaysWhen(t *testing.T) {
	s := newSignedActions(t)
	used := s.make(t, nil)
	s.want(t, actions.Request{ID: used.ID}, actions.Consumed)

	canceled := s.make(t, nil)
	if _, err := s.Cancel(t.Context(), canceled.ID); err != nil {
		t.Fatal(err)
	}

	early := s.make(t, func(s *actions.Spec) { s.ActiveAt = start.Add(time.Minute) })
	held := s.make(t, nil)
	if _, err := s.Reserve(t.Context(), actions.Request{ID: held.ID, Holder: "h"}, time.Minute); err != nil {
		t.Fatal(err)
	}

	for id, want := range map[actions.ID]string{
		used.ID:     `{"outcome":"already_used","consumedAt":"2026-11-21T12:00:00Z"}`,
		canceled.ID: `{"outcome":"canceled","canceledAt":"2026-11-21T12:00:00Z"}`,
		early.ID:    `{"outcome":"not_active","activeAt":"2026-11-21T12:01:00Z"}`,
		held.ID:     `{"outcome":"held","heldUntil":"2026-11-21T12:01:00Z"}`,
	} {
		r, err := s.Consume(t.Context(), actions.Request{ID: id})
		if err != nil || body(t, r) != want {
			t.Errorf("got %s (%v), want %s", body(t, r), err, want)
		}
	}
	s.clock.Advance(time.Hour)

	if r := s.want(t, actions.Request{ID: early.ID}, actions.Expired); body(t, r) != `{"outcome":"expired","expiresAt":"2026-11-21T13:00:00Z"}` {
		t.Errorf("got %s", body(t, r))
	}
}

// Point 38: a try is counted before the comparison, in one conditional write.
func TestPoint38_ParallelGuessesNeverExceedTheLimit(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, withPIN)
	var compared, locked atomic.Int32
	each(50, func(i int) {
		r, err := s.Consume(t.Context(), actions.Request{ID: made.ID, PIN: actions.PIN(fmt.Sprintf("9%03d", i))})
		switch {
		case err != nil:
			t.Error(err)
		case r.Outcome == actions.InvalidPIN:
			compared.Add(1)
		case r.Outcome == actions.Locked:
			locked.Add(1)
		}
	})

	if compared.Load() != 3 || locked.Load() != 47 {
		t.Errorf("%d were compared, %d found it locked", compared.Load(), locked.Load())
	}
	s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Locked)

	if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.State != "locked" || v.AttemptsLeft != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestPoint38_ARepeatedGuessIsOneAttempt(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, withPIN)
	wrong := actions.Request{ID: made.ID, PIN: "0000", ConsumeID: "mine"}
	for range 5 { // the same call again, as a client sends it that has no answer
		s.want(t, wrong, actions.InvalidPIN)
	}
	s.want(t, actions.Request{ID: made.ID, PIN: "0000", ConsumeID: "another"}, actions.InvalidPIN)
	s.want(t, actions.Request{ID: made.ID}, actions.InvalidPIN) // no PIN: nothing to compare

	if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.AttemptsLeft != 1 {
		t.Errorf("%+v, %v", v, err)
	}

	right := actions.Request{ID: made.ID, PIN: "1234", ConsumeID: "mine"}
	first := s.want(t, right, actions.Consumed)
	for range 5 {
		if again := s.want(t, right, actions.Consumed); body(t, again) != body(t, first) {
			t.Errorf("first %s, again %s", body(t, first), body(t, again))
		}
	}

	if r := s.want(t, wrong, actions.AlreadyUsed); !r.ConsumedAt.IsZero() {
		t.Errorf("the winner's ConsumeID without the PIN must reveal no more: %+v", r)
	}

	if r := s.want(t, actions.Request{ID: made.ID, ConsumeID: "mine"}, actions.AlreadyUsed); r.Payload != nil {
		t.Errorf("a request without a PIN must reveal no more: %+v", r)
	}
}

func TestPoint38_ThePINIsKeptAsAKeyedHashOfThisAction(t *testing.T) {
	s := newSignedActions(t)
	a, b := s.make(t, withPIN), s.make(t, withPIN)
	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	if err != nil || len(out.Items) != 2 {
		t.Fatal(err)
	}

	hashes := map[string]bool{}
	for _, item := range out.Items {
		text := fmt.Sprint(item)
		hashes[fmt.Sprint(item["pinHash"])] = true
		for _, id := range []actions.ID{a.ID, b.ID} {
			if strings.Contains(text, string(id)) || strings.Contains(fmt.Sprintf("%s", item["actionId"]), string(id)) {
				t.Error("the table holds an id that can be used")
			}
		}
	}

	if len(hashes) != 2 {
		t.Error("equal PINs of two actions have equal hashes")
	}
	// After a rotation, actions of the old key work as long as the list contains it.
	s.keys = append([]actions.Key{actions.NewKey(2)}, s.keys...)
	s.reopen(t, func(*actions.Config) {})
	s.want(t, actions.Request{ID: a.ID, PIN: "1234"}, actions.Consumed)
	s.keys = s.keys[:1]
	s.reopen(t, func(*actions.Config) {})
	s.want(t, actions.Request{ID: b.ID, PIN: "1234"}, actions.NotFound)
}
