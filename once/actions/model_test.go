package actions_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// model says what an action must do, without reference to how the package does it.
type model struct {
	pin                  string
	max                  int
	activeAt, expiresAt  time.Time
	state                string // "", consumed, canceled, expired
	consumeID            string
	tries                map[string]bool
	holder               string
	fence                int64
	heldUntil            time.Time
	retention, hold, mar time.Duration
}

type attempt struct {
	holder, consumeID, pin string
	fence                  int64
}

func (a attempt) by() string {
	if a.holder != "" {
		return "h" + a.holder
	}
	return "c" + a.consumeID
}

// ended is the outcome of an action that has ended, for every caller.
func (m *model) ended(now time.Time) actions.Outcome {
	switch {
	case !now.Before(m.expiresAt.Add(m.retention)):
		return actions.Expired
	case m.state == "canceled":
		return actions.Canceled
	case m.state == "consumed":
		return actions.AlreadyUsed
	case m.state == "expired", !now.Before(m.expiresAt):
		m.state = "expired"
		return actions.Expired
	}

	return ""
}

// enter decides a request up to and including the PIN.
func (m *model) enter(a attempt, now time.Time) (actions.Outcome, bool) {
	if end := m.ended(now); end != "" {
		spendable := end == actions.AlreadyUsed && m.pin != "" && a.pin != ""
		if spendable && (m.tries[a.by()+a.pin] || len(m.tries) < m.max) {
			m.tries[a.by()+a.pin] = true
		} else if m.pin != "" {
			return end, false
		}

		if end == actions.AlreadyUsed && a.consumeID == m.consumeID && (m.pin == "" || a.pin == m.pin) {
			return actions.Consumed, false
		}

		return end, false
	}

	switch {
	case now.Before(m.activeAt):
		return actions.NotActive, false
	case a.fence != 0 && (a.holder != m.holder || a.fence != m.fence || !now.Before(m.heldUntil)):
		return actions.HoldLost, false
	case a.fence == 0 && a.holder != m.holder && now.Before(m.heldUntil.Add(m.mar)):
		return actions.Held, false
	case m.pin == "":
		return "", true
	case a.pin == "":
		if len(m.tries) >= m.max {
			return actions.Locked, false
		}
		return actions.InvalidPIN, false
	}

	if !m.tries[a.by()+a.pin] {
		if len(m.tries) >= m.max {
			return actions.Locked, false
		}
		m.tries[a.by()+a.pin] = true
	}

	if a.pin != m.pin {
		return actions.InvalidPIN, false
	}

	return "", true
}

func (m *model) consume(a attempt, now time.Time) actions.Outcome {
	out, in := m.enter(a, now)
	if in {
		m.state, m.consumeID, m.heldUntil = "consumed", a.consumeID, time.Time{}
		return actions.Consumed
	}

	return out
}

func (m *model) reserve(a attempt, now time.Time) actions.Outcome {
	out, in := m.enter(a, now)
	if !in {
		return out
	}

	if a.holder != m.holder || !now.Before(m.heldUntil) {
		m.holder, m.heldUntil = a.holder, now.Add(m.hold)
		m.fence++
	}

	return actions.Reserved
}

func (m *model) release(a attempt, now time.Time) actions.Outcome {
	switch end := m.ended(now); {
	case end != "":
		return end
	case a.holder != m.holder || a.fence != m.fence:
		return actions.HoldLost
	case now.Before(m.heldUntil):
		m.heldUntil = time.Time{}
		return actions.Released
	case m.heldUntil.IsZero():
		return actions.Released
	}

	return actions.HoldLost
}

func (m *model) cancel(now time.Time) actions.Outcome {
	end := m.ended(now)
	if end == "" {
		m.state, m.heldUntil, end = "canceled", time.Time{}, actions.Canceled
	}

	return end
}

// TestActionsFollowTheModel plays random requests against the model, with lost answers,
// callers that die between their two writes and return, and deletions by TTL. The outcomes
// must be equal.
func TestActionsFollowTheModel(t *testing.T) {
	synctest.Test(t, followTheModel) // which skips the waits after lost answers
}

func followTheModel(t *testing.T) {
	s := newSignedActions(t)
	s.reopen(t, func(c *actions.Config) { c.Retention = time.Hour })
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
		began := s.clock.Now()

		m := &model{tries: map[string]bool{}, activeAt: began.Add(rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(rt, "activeAt")),
			expiresAt: began.Add(10 * time.Minute), retention: time.Hour, hold: 30 * time.Second, mar: 2 * time.Second}
		spec := actions.Spec{ActiveAt: m.activeAt, ExpiresAt: m.expiresAt}
		if rapid.Bool().Draw(rt, "withPIN") {
			m.pin, m.max = "1234", rapid.IntRange(1, 4).Draw(rt, "maxAttempts")
			spec.PIN, spec.MaxAttempts = "1234", m.max
		}

		made, err := s.Create(rt.Context(), spec)
		if err != nil {
			rt.Fatal(err)
		}
		try := func(rt *rapid.T) (attempt, actions.Request) {
			a := attempt{consumeID: rapid.SampledFrom([]string{"c1", "c2"}).Draw(rt, "consumeId"),
				pin: rapid.SampledFrom([]string{"", "1234", "1234", "0000", "1111"}).Draw(rt, "pin")}
			return a, actions.Request{ID: made.ID, PIN: actions.PIN(a.pin), ConsumeID: a.consumeID}
		}
		check := func(rt *rapid.T, r actions.Result, err error, want actions.Outcome) {
			rt.Helper()

			if err != nil || r.Outcome != want {
				rt.Fatalf("got %s (%v), the model says %s: %+v at %s", r.Outcome, err, want, m, s.clock.Now())
			}
		}
		lose := func(rt *rapid.T) { s.loseAnswers(rapid.IntRange(0, 2).Draw(rt, "lost")) }
		rt.Repeat(map[string]func(*rapid.T){
			"consume": func(rt *rapid.T) {
				a, r := try(rt)
				lose(rt)
				got, err := s.Consume(rt.Context(), r)
				check(rt, got, err, m.consume(a, s.clock.Now()))
			},
			"consume held": func(rt *rapid.T) {
				a, r := try(rt)
				a.holder = rapid.SampledFrom([]string{"h1", "h2"}).Draw(rt, "holder")
				a.fence = rapid.Int64Range(1, max(1, m.fence)).Draw(rt, "fence")
				r.Holder, r.Fence = a.holder, a.fence
				lose(rt)
				got, err := s.Consume(rt.Context(), r)
				check(rt, got, err, m.consume(a, s.clock.Now()))
			},
			"reserve": func(rt *rapid.T) {
				a, r := try(rt)
				a.holder = rapid.SampledFrom([]string{"h1", "h2"}).Draw(rt, "holder")
				r.Holder, a.consumeID, r.ConsumeID = a.holder, "-", "-"
				lose(rt)

				got, err := s.Reserve(rt.Context(), r, m.hold)
				want := m.reserve(a, s.clock.Now())
				if check(rt, got, err, want); want == actions.Reserved && got.Fence != m.fence {
					rt.Fatalf("fence %d, the model says %d", got.Fence, m.fence)
				}
			},
			"release": func(rt *rapid.T) {
				a := attempt{holder: rapid.SampledFrom([]string{"h1", "h2"}).Draw(rt, "holder"), fence: rapid.Int64Range(1, max(1, m.fence)).Draw(rt, "fence")}
				lose(rt)
				got, err := s.Release(rt.Context(), actions.Request{ID: made.ID, Holder: a.holder, Fence: a.fence})
				check(rt, got, err, m.release(a, s.clock.Now()))
			},
			"cancel": func(rt *rapid.T) {
				if rapid.IntRange(0, 3).Draw(rt, "really") != 0 {
					return
				}
				lose(rt)
				got, err := s.Cancel(rt.Context(), made.ID)
				check(rt, got, err, m.cancel(s.clock.Now()))
			},
			"die between the writes": func(rt *rapid.T) {
				a, r := try(rt)
				s.die(1)
				_, err := s.Consume(rt.Context(), r)
				s.transport.Clear()

				before := *m
				want, in := m.enter(a, s.clock.Now())
				if in && m.pin == "" && a.pin == "" { // its only write was made
					m.consume(a, s.clock.Now())
				}

				if err != nil && !errors.Is(err, actions.ErrUnavailable) {
					rt.Fatalf("%v: the model was %+v, said %s", err, before, want)
				}
			},
			"time": func(rt *rapid.T) {
				s.clock.Advance(time.Duration(rapid.IntRange(1, 120).Draw(rt, "seconds")) * time.Second)
			},
			"sweep": func(rt *rapid.T) { s.sweep(t) },
			"": func(rt *rapid.T) {
				v, found, err := s.Get(rt.Context(), made.ID)
				if err != nil || !found || (m.state == "consumed") != (v.State == "consumed") && s.clock.Now().Before(m.expiresAt.Add(m.retention)) {
					rt.Fatalf("%+v, %v, %v; the model: %+v", v, found, err, m)
				}
			},
		})
	})
}

// die makes every write fail but the first n.
func (s *signedActions) die(n int) {
	s.transport.Clear()
	s.transport.Inject(embeddedtest.LoseRequest(embeddedtest.Writes()...).From(n + 1))
}

// TestACallerMayDieAtEveryStep kills the caller before, between and after its writes. When
// it sends the request again, it gets the answer that it lost, and one try was counted.
func TestACallerMayDieAtEveryStep(t *testing.T) { synctest.Test(t, dieAtEveryStep) }

func dieAtEveryStep(t *testing.T) {
	for _, setup := range []func(*actions.Spec){nil, withPIN} {
		for step := range 3 {
			for _, answered := range []bool{false, true} { // does the last write reach DynamoDB?
				name := fmt.Sprintf("PIN %v, dies at write %d, which was made: %v", setup != nil, step+1, answered)
				s := newSignedActions(t)
				made := s.make(t, setup)
				request := actions.Request{ID: made.ID, PIN: "1234", ConsumeID: "me", Holder: ""}
				s.dieAt(step, answered)

				first, err := s.Consume(t.Context(), request)
				if err == nil && first.Outcome != actions.Consumed {
					t.Errorf("%s: first %+v", name, first)
				}
				s.transport.Clear()
				s.clock.Advance(time.Second)

				again := s.want(t, request, actions.Consumed)
				if err == nil && body(t, again) != body(t, first) {
					t.Errorf("%s: %s, again %s", name, body(t, first), body(t, again))
				}

				if v, _, err := s.Get(t.Context(), made.ID); err != nil || setup != nil && v.AttemptsLeft != 2 {
					t.Errorf("%s: %+v, %v", name, v, err)
				}
				s.want(t, actions.Request{ID: made.ID, PIN: "1234", ConsumeID: "another"}, actions.AlreadyUsed)
			}
		}
	}
}

// dieAt loses every call behind the first n. If made, the call after them is carried out,
// and only its answer is lost.
func (s *signedActions) dieAt(n int, made bool) {
	s.transport.Clear()

	if made {
		s.transport.Inject(embeddedtest.LoseAnswer().From(n + 1).Next(1))
		n++
	}
	s.transport.Inject(embeddedtest.LoseRequest().From(n + 1))
}
