package linearizability

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"ratchet/transitions"
)

// forgery puts a false answer into a true history. plant returns false if the history has
// no call whose answer it can change.
type forgery struct {
	name  string
	plant func(history []porcupine.Operation) bool
}

// forge returns a function that changes the last answer that fits.
func forge(fits func(call, answer) bool, lie func(*answer)) func([]porcupine.Operation) bool {
	return func(history []porcupine.Operation) bool {
		for i := len(history) - 1; i >= 0; i-- {
			c, a := history[i].Input.(call), history[i].Output.(answer)
			if !a.unknown && fits(c, a) {
				lie(&a)
				history[i].Output = a
				return true
			}
		}

		return false
	}
}

func has(v transitions.Verdict) func(call, answer) bool {
	return func(c call, a answer) bool { return c.verb == "" && a.verdict == v }
}

func says(v transitions.Verdict) func(*answer) { return func(a *answer) { a.verdict = v } }

func isGet(c call, a answer) bool { return c.verb == "get" && a.found && a.id > 1 }

var forgeries = []forgery{
	{"one request is answered Applied twice", forge(has(transitions.Replayed), says(transitions.Applied))},
	{"an Applied is answered Replayed", forge(has(transitions.Applied), says(transitions.Replayed))},
	{"an Applied is answered WrongState", forge(has(transitions.Applied), says(transitions.WrongState))},
	{"a Superseded is answered Replayed", forge(has(transitions.Superseded), says(transitions.Replayed))},
	{"a Replayed is answered Superseded", forge(has(transitions.Replayed), says(transitions.Superseded))},
	{"a WrongState is answered Applied", forge(has(transitions.WrongState), says(transitions.Applied))},
	{"a Conflict is answered Superseded", forge(has(transitions.Conflict), says(transitions.Superseded))},
	{"an id is used twice", forge(has(transitions.Applied), func(a *answer) { a.transition.id-- })},
	{"a replay returns another transition", forge(has(transitions.Replayed), func(a *answer) { a.transition.id++ })},
	{"a read is stale", forge(isGet, func(a *answer) { a.id-- })},
	{"the ring has lost a transition", forge(isGet, func(a *answer) { a.ring = slices.Delete(slices.Clone(a.ring), 0, 1) })},
	{"an existing order is not found", forge(isGet, func(a *answer) { *a = answer{} })},
	{"an Applied is left out", func(history []porcupine.Operation) bool {
		for i := range history {
			// In its place comes a call that changes nothing, and whose answer is not known. Another call of the event
			// whose answer is not known could have made the transition, too.
			a, c := history[i].Output.(answer), history[i].Input.(call)
			if c.verb == "" && a.verdict == transitions.Applied && !a.unknown && !slices.ContainsFunc(history, func(o porcupine.Operation) bool {
				return o.Output.(answer).unknown && o.Input.(call).request.Event == c.request.Event
			}) {
				history[i].Input, history[i].Output = call{request: transitions.Request{Event: unheard}}, answer{unknown: true}
				return true
			}
		}

		return false
	}},
}

// TestEveryFalseAnswerIsFound puts each false answer into histories that were checked before.
func TestEveryFalseAnswerIsFound(t *testing.T) {
	s := openFaultyOrders(t, transitions.JournalByStream)
	var truths [][]porcupine.Operation
	for n := range 6 {
		history := s.quiet(t.Context(), t, transitions.OrderID(fmt.Sprintf("o-%d", n)), *flagSeed+uint64(n)<<20, 100)
		if err := verify(t, "true", history); err != nil {
			t.Fatal(err)
		}
		truths = append(truths, history)
	}

	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			planted := 0
			for n, truth := range truths {
				history := slices.Clone(truth)
				if !f.plant(history) {
					continue
				}
				planted++

				if got := porcupine.CheckOperationsTimeout(model(), history, patience); got != porcupine.Illegal {
					t.Errorf("history %d: %s", n, got)
				}
			}

			if planted == 0 {
				t.Error("no history has an answer that it can change")
			}
		})
	}
}

// sabotage breaks the write itself, between the SDK and the engine: it replaces what find
// matches in the request by with.
type sabotage struct {
	name, find, with string
}

var sabotages = []sabotage{
	{"the condition ignores the id", `transitionId (<|\\u003c) :id`, `attribute_exists(orderId)`},
	{"the condition ignores the state", `orderState (= :from0|IN \([^)]*\))`, `(orderState $1 OR attribute_exists(orderId))`},
	{"the update forgets the call id", `(":slot":\{"S":"\d+ \S+ \S+ \w+) [\w-]{6}`, `$1 other`},
	{"the update forgets the content", `(":slot":\{"S":"\d+) \S+`, `$1 something`},
	{"the update overwrites a request id without a row", ` AND attribute_not_exists\(recent\.r\d\)`, ``},
	{"the update forgets the request id", `, recent\.r(\d) = :req`, `, recent.x$1 = :req`},
}

// TestEveryBrokenWriteIsFound lets clients work on a system whose write is broken. There are
// also faults, because one of the mistakes shows only if an answer is lost.
func TestEveryBrokenWriteIsFound(t *testing.T) {
	for _, b := range sabotages {
		t.Run(b.name, func(t *testing.T) {
			s := openFaultyOrders(t, transitions.JournalByStream)
			find, hits := regexp.MustCompile(b.find), atomic.Int64{}
			s.wire.tamper = func(body string) string {
				if strings.Contains(body, "attribute_exists(orderId) AND orderState") && find.MatchString(body) {
					hits.Add(1)
					return find.ReplaceAllString(body, b.with)
				}

				return body
			}
			// The rarest shows in one history of ten: 40 are too few to be certain.
			for n := range 1000 {
				order := transitions.OrderID(fmt.Sprintf("o-%d", n))
				history, err := s.play(t.Context(), order, *flagSeed+uint64(n)<<20, 4, 48, 20)
				if errors.Is(err, errUnanswered) {
					t.Logf("found in history %d: %v", n, err)
					return
				} else if err != nil {
					t.Fatal(err) // the engine refuses the broken write, so the checker has nothing to find
				}

				if porcupine.CheckOperationsTimeout(model(), history, patience) == porcupine.Illegal {
					t.Logf("found in history %d, after %d mistakes", n, hits.Load())
					return
				}
			}
			t.Errorf("not found; the mistake was made %d times", hits.Load())
		})
	}
}
