package actions_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// answer is the answer that a caller received.
type answer struct {
	verb, by, pin string
	result        actions.Result
}

// TestCallersWithWrongClocksGetConsistentAnswers lets callers whose clocks differ consume,
// reserve, release and cancel one action at the same time, or let it expire, while requests
// and answers are lost. All their answers together must describe one ending.
func TestCallersWithWrongClocksGetConsistentAnswers(t *testing.T) {
	s := newSignedActions(t)
	const limit = 3
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		faults := rapid.Float64Range(0, 0.3).Draw(rt, "faults")
		made := s.make(t, func(spec *actions.Spec) {
			spec.ExpiresAt = s.clock.Now().Add(20 * time.Second)
			if seed%2 == 0 {
				spec.PIN, spec.MaxAttempts = "1234", limit
			}
		})
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 1))
		chance := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return random.Float64() < faults
		}
		lost := func(*embeddedtest.Call) bool { return chance() }
		s.transport.Inject(embeddedtest.LoseRequest().If(lost))
		s.transport.Inject(embeddedtest.LoseAnswer().If(lost))

		var answers []answer
		each(6, func(caller int) {
			mine := rand.New(rand.NewPCG(seed, uint64(caller)+2))

			skew := time.Duration(mine.Int64N(2000)-1000) * time.Millisecond
			all := s.with(t, func(c *actions.Config) { c.Now = func() time.Time { return s.clock.Now().Add(skew) } })
			fence := int64(0)
			for range 8 {
				r := answer{by: fmt.Sprint("caller-", caller, "-", mine.IntN(2)), pin: []string{"1234", "0000", "1111"}[mine.IntN(3)]}
				request := actions.Request{ID: made.ID, PIN: actions.PIN(r.pin), ConsumeID: r.by}
				var err error
				switch mine.IntN(9) {
				case 0, 1, 2:
					r.verb = "consume"
					r.result, err = all.Consume(t.Context(), request)
				case 3, 4:
					r.verb, request.Holder = "reserve", r.by
					r.result, err = all.Reserve(t.Context(), request, 5*time.Second)
					fence = r.result.Fence
				case 5:
					if r.verb = "release"; fence > 0 {
						r.result, err = all.Release(t.Context(), actions.Request{ID: made.ID, Holder: r.by, Fence: fence})
					}
				case 6:
					if r.verb = "consume held"; fence > 0 {
						request.Holder, request.Fence = r.by, fence
						r.result, err = all.Consume(t.Context(), request)
					}
				case 7:
					if r.verb = "cancel"; mine.IntN(3) == 0 {
						r.result, err = all.Cancel(t.Context(), made.ID)
					}
				case 8:
					s.clock.Advance(time.Duration(mine.IntN(3)) * time.Second)
				}

				if err == nil && r.result.Outcome != "" {
					mu.Lock()
					answers = append(answers, r)
					mu.Unlock()
				}
			}
		})
		s.transport.Clear()
		requireOneEnding(rt, answers, limit)
	})
}

// requireOneEnding checks that the action ended at most once and for one caller, that no
// two callers had the same hold, and that no more wrong PINs were compared than allowed.
func requireOneEnding(t *rapid.T, answers []answer, limit int) {
	endings, winners, guesses, holders := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[int64]string{}
	for _, r := range answers {
		switch r.result.Outcome {
		case actions.Consumed:
			endings["used"], winners[r.by] = true, true
		case actions.AlreadyUsed:
			endings["used"] = true
		case actions.Canceled, actions.Expired:
			endings[string(r.result.Outcome)] = true
		case actions.InvalidPIN:
			guesses[r.verb+r.by+r.pin] = true
		case actions.Reserved:
			if other, there := holders[r.result.Fence]; there && other != r.by {
				t.Fatalf("%s and %s both hold under fence %d", other, r.by, r.result.Fence)
			}
			holders[r.result.Fence] = r.by
		}
	}

	if len(endings) > 1 || len(winners) > 1 || len(guesses) > limit {
		t.Fatalf("it ended as %v, won by %v, wrong guesses %v: %+v", endings, winners, guesses, answers)
	}
}

// TestOneCreatorIsFirst creates one action many times at one moment of one clock. The
// first one is the call that stored the item; the time does not tell.
func TestOneCreatorIsFirst(t *testing.T) {
	t.Parallel()

	s := newSignedActions(t)
	spec := actions.Spec{Code: "SPRING-2026", ExpiresAt: s.clock.Now().Add(time.Hour)}

	var first atomic.Int32
	each(20, func(int) {
		made, err := s.Create(t.Context(), spec)
		if err != nil {
			t.Error(err)
		}

		if !made.Repeated {
			first.Add(1)
		}
	})

	if got := first.Load(); got != 1 {
		t.Errorf("%d of 20 creators of one code were first, want 1", got)
	}

	batch := actions.Batch{ID: "b-1", Prefix: "SALE", Count: 3, ExpiresAt: spec.ExpiresAt}
	for run, want := range []bool{true, false} {
		err := s.Bulk(t.Context(), batch, func(c actions.BatchAction) error {
			if c.Made != want {
				t.Errorf("run %d of the batch, code %d: made = %t, want %t", run+1, c.Index, c.Made, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestACreatorWhoseAnswerWasLostIsFirst repeats the write inside the SDK client: the
// second write finds the item that the first one stored.
func TestACreatorWhoseAnswerWasLostIsFirst(t *testing.T) {
	t.Parallel()

	s := newSignedActions(t)
	s.loseAnswers(1)

	made, err := s.Create(t.Context(), actions.Spec{RequestID: "r-1", ExpiresAt: s.clock.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}

	if made.Repeated {
		t.Error("the only creator must not be a repeat")
	}
}
