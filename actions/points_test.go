package actions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/actions"
)

// Point 36: N parallel consumes: one 200; its own retry gets the same 200 body; others
// 409 with consumedAt.
func TestPoint36_OneConsumerWinsAndItsRetryGetsTheSameBody(t *testing.T) {
	s := newShop(t)
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
			t.Fatalf("%s: nobody won", name)
		}
		s.clock.advance(time.Minute)
		again := s.want(t, request(winner), actions.Consumed)
		if body(t, again) != body(t, results[winner]) || !again.Replayed || results[winner].Replayed {
			t.Errorf("%s: first %s, again %s", name, body(t, results[winner]), body(t, again))
		}
		s.clock.advance(-time.Minute)
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
	s := newShop(t)
	for name, setup := range map[string]func(*actions.Spec){"without a PIN": nil, "with a PIN": withPIN} {
		made := s.make(t, setup)
		s.wire.loseNext(2)
		r := s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Consumed)
		if string(r.Payload) != `{"user":"u-1"}` {
			t.Errorf("%s: %+v", name, r)
		}
		if setup != nil {
			if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.AttemptsLeft != 2 {
				t.Errorf("one try was spent, not %d", 3-v.AttemptsLeft)
			}
		}
	}
}

// Point 37: the outcome is chosen from one old image by a fixed order, and no field
// leaks before the PIN passes.
func TestPoint37_TheOutcomesHaveAnOrder(t *testing.T) {
	s := newShop(t)
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
		r, err := s.Reserve(t.Context(), actions.Request{ID: id, PIN: "1234", Holder: "somebody"}, time.Hour)
		outcome(t, r, err, actions.Reserved)
	}
	late := func(actions.ID) { s.clock.advance(2 * time.Hour) }
	for _, test := range []struct {
		name   string
		active time.Duration
		steps  []func(actions.ID)
		want   actions.Outcome
	}{
		{"canceled before anything else", 0, []func(actions.ID){lock, cancel, late}, actions.Canceled},
		{"used before expired", 0, []func(actions.ID){consume, late}, actions.AlreadyUsed},
		{"expired before locked", 0, []func(actions.ID){lock, late}, actions.Expired},
		{"not active before a wrong PIN", time.Minute, nil, actions.NotActive},
		{"held before a wrong PIN", 0, []func(actions.ID){hold}, actions.Held},
		{"locked before a wrong PIN", 0, []func(actions.ID){lock}, actions.Locked},
		{"a wrong PIN at last", 0, nil, actions.InvalidPIN},
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
				t.Errorf("%s: with PIN %q more was told than the outcome: %s", test.name, string(pin), body(t, r))
			}
			s.clock.now.Store(began.UnixMilli())
		}
	}
	s.want(t, actions.Request{ID: "act_unknown", PIN: "1234"}, actions.NotFound)
}

func TestPoint37_WithoutAPINTheOutcomeSaysWhen(t *testing.T) {
	s := newShop(t)
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
	s.clock.advance(time.Hour)
	if r := s.want(t, actions.Request{ID: early.ID}, actions.Expired); body(t, r) != `{"outcome":"expired","expiresAt":"2026-11-21T13:00:00Z"}` {
		t.Errorf("got %s", body(t, r))
	}
}

// Point 38: an attempt is spent before the compare, in one conditional write.
func TestPoint38_ParallelGuessesNeverExceedTheLimit(t *testing.T) {
	s := newShop(t)
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
	if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.State != actions.StateLocked || v.AttemptsLeft != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestPoint38_ARepeatedGuessIsOneAttempt(t *testing.T) {
	s := newShop(t)
	made := s.make(t, withPIN)
	wrong := actions.Request{ID: made.ID, PIN: "0000", ConsumeID: "mine"}
	for range 5 { // the same call again, as a client does that has no answer
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
		t.Errorf("the winner's id without the PIN is told no more: %+v", r)
	}
	if r := s.want(t, actions.Request{ID: made.ID, ConsumeID: "mine"}, actions.AlreadyUsed); r.Payload != nil {
		t.Errorf("nor without any: %+v", r)
	}
}

func TestPoint38_ThePINIsKeptAsAKeyedHashOfThisAction(t *testing.T) {
	s := newShop(t)
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
	// A rotated key: what was made with the old one goes on as long as that is kept.
	s.keys = append([]actions.Key{actions.NewKey(2)}, s.keys...)
	s.reopen(t, func(*actions.Config) {})
	s.want(t, actions.Request{ID: a.ID, PIN: "1234"}, actions.Consumed)
	s.keys = s.keys[:1]
	s.reopen(t, func(*actions.Config) {})
	s.want(t, actions.Request{ID: b.ID, PIN: "1234"}, actions.NotFound)
}

// Point 39: cancel, consume, expire: exactly one wins.
func TestPoint39_OneOfCancelConsumeAndExpireWins(t *testing.T) {
	s := newShop(t)
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
		want := map[actions.State]actions.Outcome{actions.StateConsumed: actions.AlreadyUsed, actions.StateCanceled: actions.Canceled, actions.StateExpired: actions.Expired}[end.State]
		if len(winners) != 1 || !winners[want] || (used == 1) != (end.State == actions.StateConsumed) || used > 1 {
			t.Errorf("it ended %s, %d consumed it, the others were told %v", end.State, used, winners)
		}
	}
}

func TestPoint39_CancellingAgainAnswersTheSameAndAfterUseIsAConflict(t *testing.T) {
	s := newShop(t)
	made := s.make(t, withPIN)
	first, err := s.Cancel(t.Context(), made.ID)
	outcome(t, first, err, actions.Canceled)
	s.clock.advance(2 * time.Hour)
	again, err := s.Cancel(t.Context(), made.ID)
	outcome(t, again, err, actions.Canceled)
	if body(t, first) != body(t, again) || !again.Replayed || first.CanceledAt.IsZero() {
		t.Errorf("first %s, again %s", body(t, first), body(t, again))
	}
	used := s.make(t, withPIN)
	s.want(t, actions.Request{ID: used.ID, PIN: "1234"}, actions.Consumed)
	r, err := s.Cancel(t.Context(), used.ID)
	if outcome(t, r, err, actions.AlreadyUsed); r.ConsumedAt.IsZero() {
		t.Errorf("the owner learns when: %+v", r)
	}
	late := s.make(t, nil)
	s.clock.advance(2 * time.Hour)
	r, err = s.Cancel(t.Context(), late.ID)
	outcome(t, r, err, actions.Expired)
	pending := s.make(t, func(spec *actions.Spec) { spec.ActiveAt = s.clock.Now().Add(time.Minute) })
	r, err = s.Cancel(t.Context(), pending.ID)
	outcome(t, r, err, actions.Canceled)
	r, err = s.Cancel(t.Context(), "act_unknown")
	outcome(t, r, err, actions.NotFound)
}

func TestPoint39_ALostAnswerToCancelIsRecognised(t *testing.T) {
	s := newShop(t)
	made := s.make(t, nil)
	s.wire.loseNext(2)
	r, err := s.Cancel(t.Context(), made.ID)
	outcome(t, r, err, actions.Canceled)
}

// Point 40: reserve, then consume or release, with holder and fence.
func TestPoint40_AHoldKeepsOthersOutUntilItRunsOut(t *testing.T) {
	s := newShop(t)
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
		s.clock.advance(time.Minute) // run out for anna, but not yet for those whose clock may be ahead
		s.want(t, actions.Request{ID: made.ID, PIN: "1234", Holder: "anna", Fence: 1}, actions.HoldLost)
		r, err = reserve("bert")
		outcome(t, r, err, actions.Held)
		s.clock.advance(3 * time.Second)
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
	s := newShop(t)
	made := s.make(t, withPIN)
	r, err := s.Reserve(t.Context(), actions.Request{ID: made.ID, PIN: "0000", Holder: "anna"}, time.Minute)
	outcome(t, r, err, actions.InvalidPIN)
	r, err = s.Reserve(t.Context(), actions.Request{ID: made.ID, PIN: "1234", Holder: "anna"}, time.Minute)
	outcome(t, r, err, actions.Reserved)
	s.wire.loseNext(2)
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
	s := newShop(t)
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
	s.clock.advance(time.Hour)
	s.want(t, actions.Request{ID: made.ID, Holder: "anna", Fence: 1}, actions.Expired)
}

// Point 41: reading never consumes; the winner's repetition may be limited in time.
func TestPoint41_ReadingNeverConsumes(t *testing.T) {
	s := newShop(t)
	made := s.make(t, withPIN)
	for range 20 {
		v, found, err := s.Get(t.Context(), made.ID)
		if err != nil || !found || v.State != actions.StateActive || v.AttemptsLeft != 3 || string(v.Payload) == "" {
			t.Fatalf("%+v, %v, %v", v, found, err)
		}
		if public, err := json.Marshal(v.Public()); err != nil || string(public) != fmt.Sprintf(`{"id":%q,"state":"active","pinRequired":true}`, string(made.ID)) {
			t.Fatalf("who has no PIN sees %s, %v", public, err)
		}
	}
	s.want(t, actions.Request{ID: made.ID, PIN: "1234"}, actions.Consumed)
	if v, _, err := s.Get(t.Context(), made.ID); err != nil || v.State != actions.StateConsumed || !v.ConsumedAt.Equal(start) {
		t.Errorf("%+v, %v", v, err)
	}
	plain := s.make(t, func(s *actions.Spec) { s.ActiveAt = start.Add(time.Minute) })
	if v, _, err := s.Get(t.Context(), plain.ID); err != nil || v.State != actions.StatePending || v.Public().Payload != nil || v.Public().ActiveAt.IsZero() {
		t.Errorf("%+v, %v", v, err)
	}
	if _, found, err := s.Get(t.Context(), "act_unknown"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestPoint41_TheReplayWindowIsForTheWinnerOnly(t *testing.T) {
	s := newShop(t)
	s.reopen(t, func(c *actions.Config) { c.ReplayFor = time.Minute })
	made := s.make(t, nil)
	winner := actions.Request{ID: made.ID, ConsumeID: "winner"}
	s.want(t, winner, actions.Consumed)
	s.clock.advance(time.Minute)
	s.want(t, winner, actions.Consumed)
	s.want(t, actions.Request{ID: made.ID, ConsumeID: "other"}, actions.AlreadyUsed)
	s.clock.advance(time.Second)
	s.want(t, winner, actions.AlreadyUsed)
}

// Point 42: outcomes are stable past the TTL sweep, and an old id cannot be made anew.
func TestPoint42_AfterTheSweepALateCallIsExpired(t *testing.T) {
	s := newShop(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	used, unused := s.make(t, nil), s.make(t, nil)
	s.want(t, actions.Request{ID: used.ID, ConsumeID: "c"}, actions.Consumed)
	s.clock.advance(2*time.Hour - time.Millisecond)
	s.want(t, actions.Request{ID: used.ID, ConsumeID: "c"}, actions.Consumed)
	s.want(t, actions.Request{ID: unused.ID}, actions.Expired)
	s.clock.advance(time.Millisecond) // its time is over, whether TTL has been there or not
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
			if v, found, err := s.Get(t.Context(), id); err != nil || !found || v.State != actions.StateExpired {
				t.Errorf("swept %v: %+v, %v, %v", swept, v, found, err)
			}
		}
	}
}

func TestPoint42_AnIdIsGoodForOneActionOnly(t *testing.T) {
	s := newShop(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	spec := actions.Spec{RequestID: "r-1", Payload: json.RawMessage(`1`), PIN: "1234", ExpiresAt: start.Add(time.Hour)}
	first, err := s.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Create(t.Context(), spec)
	if err != nil || again.ID != first.ID {
		t.Errorf("a repeat finds the action: %v", err)
	}
	for name, change := range map[string]func(*actions.Spec){
		"payload": func(s *actions.Spec) { s.Payload = json.RawMessage(`2`) }, "pin": func(s *actions.Spec) { s.PIN = "4321" },
		"no pin": func(s *actions.Spec) { s.PIN = "" }, "attempts": func(s *actions.Spec) { s.MaxAttempts = 4 },
		"start": func(s *actions.Spec) { s.ActiveAt = start.Add(time.Minute) },
	} {
		other := spec
		if change(&other); true {
			if _, err := s.Create(t.Context(), other); !errors.Is(err, actions.ErrConflict) {
				t.Errorf("another %s: %v", name, err)
			}
		}
	}
	s.want(t, actions.Request{ID: first.ID, PIN: "1234"}, actions.Consumed)
	if again, err := s.Create(t.Context(), spec); err != nil || again.State != actions.StateConsumed {
		t.Errorf("a late repeat does not revive it: %+v, %v", again, err)
	}
	s.clock.advance(3 * time.Hour)
	s.sweep(t)
	if _, err := s.Create(t.Context(), spec); !errors.Is(err, actions.ErrInvalid) {
		t.Errorf("after the sweep nobody can make it anew: %v", err)
	}
	s.want(t, actions.Request{ID: first.ID, PIN: "1234"}, actions.Expired)
	// The key may have been rotated between a creation and its repeat.
	spec.ExpiresAt = s.clock.Now().Add(time.Hour)
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
	if again, err := s.Create(t.Context(), spec); err != nil || again.State != actions.StateConsumed {
		t.Errorf("it is one action under both keys: %+v, %v", again, err)
	}
}

func TestPoint42_AChosenCodeIsNeverFreeAgain(t *testing.T) {
	s := newShop(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	spec := actions.Spec{Code: "summer 24", Payload: json.RawMessage(`{"off":10}`), ExpiresAt: start.Add(time.Hour)}
	made, err := s.Create(t.Context(), spec)
	if err != nil || made.ID != "SUMMER-24" {
		t.Fatalf("%q, %v", string(made.ID), err)
	}
	s.want(t, actions.Request{ID: "Summer-24"}, actions.Consumed)
	s.want(t, actions.Request{ID: "WINTER-24"}, actions.NotFound)
	s.clock.advance(10000 * time.Hour)
	s.sweep(t)
	s.want(t, actions.Request{ID: "SUMMER-24"}, actions.AlreadyUsed)
	spec.ExpiresAt = s.clock.Now().Add(time.Hour)
	if _, err := s.Create(t.Context(), spec); !errors.Is(err, actions.ErrConflict) {
		t.Errorf("the code was free again: %v", err)
	}
}
