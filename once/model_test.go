package once_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ratchet/once"
)

// modelKey is the record that a key must have, computed without the package.
type modelKey struct {
	status  once.Status // "" without a record
	owner   int         // the number of the claim that holds or ended it
	fence   int64
	lease   int64 // ms
	expires int64 // s, 0 for never
	payload string
	result  string
	begun   bool // a former holder may have begun the work
}

// model claims two keys from three machines whose clocks differ. It loses answers, lets
// time pass and records be deleted, and compares every answer with the model's.
type model struct {
	w        *watchedClaims
	prefix   string
	machines []*once.Claims
	offsets  []int64 // ms
	keys     map[string]*modelKey
	held     []holding
	now      int64 // true time, ms
}

type holding struct {
	key     string
	claim   *once.Claim
	number  int
	machine int
	fence   int64
}

const (
	modelLease     = 60_000
	modelRetention = 3600
	modelMargin    = 1000
)

func (m *model) clock(machine int) int64 { return m.now + m.offsets[machine] }

// claim returns what a claim must return, and updates the model.
func (m *model) claim(k *modelKey, now int64, number int, payload string) (outcome once.Outcome, want error) {
	expired := k.expires != 0 && k.expires < now/1000
	switch {
	case k.status == "":
		outcome = once.Acquired
		k.fence = now * 1000
	case expired:
		outcome = once.Acquired
		k.fence++
	case k.payload != payload:
		return "", once.ErrMismatch
	case k.status == once.StatusCompleted:
		return once.Replayed, nil
	case k.status == once.StatusFailed:
		return "", &once.Failure{Code: "Closed"}
	case k.status == once.StatusUnknown:
		return "", once.ErrUnknownOutcome
	case k.status == once.StatusReleased:
		outcome = once.Acquired
		if k.begun {
			outcome = once.TakenOver
		}
		k.fence++
	case now < k.lease+2*modelMargin:
		return "", once.ErrInProgress
	default:
		outcome = once.TakenOver
		k.fence++
	}

	k.status, k.owner, k.payload, k.lease, k.expires, k.result = once.StatusInProgress, number, payload, now+modelLease, now/1000+modelRetention, ""
	if k.begun = outcome == once.TakenOver; k.begun {
		k.expires = 0
	}

	return outcome, nil
}

// step returns what a holder's step must return, and updates the model.
func (m *model) step(k *modelKey, h *holding, now int64, verb string) error {
	target := map[string]once.Status{"complete": once.StatusCompleted, "fail": once.StatusFailed, "unknown": once.StatusUnknown,
		"release": once.StatusReleased, "extend": once.StatusInProgress}[verb]
	switch {
	case k.status == "" || k.owner != h.number || k.fence != h.fence:
		return once.ErrStaleOwner
	case k.status == once.StatusUnknown && verb != "unknown":
		return once.ErrStaleOwner
	case k.status == target && verb != "extend":
		return nil
	case k.status != once.StatusInProgress:
		return once.ErrEnded
	case verb != "release" && now >= k.lease && !(verb == "extend" && now+modelLease == k.lease):
		return once.ErrLeaseExpired
	}

	k.status, k.expires = target, now/1000+modelRetention
	switch verb {
	case "extend":
		k.lease = now + modelLease
	case "complete", "fail":
		k.begun = false
		k.result = strconv.Itoa(h.number)
	case "unknown":
		k.expires = 0
	}

	if k.begun {
		k.expires = 0
	}

	return nil
}

func newModel(t *testing.T, rt *rapid.T, w *watchedClaims, n int) *model {
	m := &model{w: w, prefix: strconv.Itoa(n) + "/", keys: map[string]*modelKey{}, now: w.clock.Now().UnixMilli()}
	for i := range 3 {
		off := rapid.Int64Range(-modelMargin, modelMargin).Draw(rt, "off"+strconv.Itoa(i))
		m.offsets = append(m.offsets, off)
		m.machines = append(m.machines, w.machine(t, time.Duration(off)*time.Millisecond))
	}

	for _, k := range []string{"a", "b"} {
		m.keys[k] = &modelKey{}
	}

	return m
}

func same(err, want error) bool {
	return want == nil && err == nil || want != nil && errors.Is(err, want)
}

func TestClaimsFollowTheModel(t *testing.T) {
	synctest.Test(t, followTheModel) // which skips the waits after lost answers
}

func followTheModel(t *testing.T) {
	w := newWatchedClaims(t)
	w.service.clock = nil // without a Date, the clocks are as they are
	n, answers := 0, map[string]int{}
	// Without its type, t is not asked for its deadline, which a bubble does not have.
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
		n++
		m := newModel(t, rt, w, n)
		defer w.transport.Clear()
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"claim": func(rt *rapid.T) {
				name, machine := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key"), rapid.IntRange(0, 2).Draw(rt, "machine")
				payload := rapid.SampledFrom([]string{"p", "p", "p", "q"}).Draw(rt, "payload")
				w.loseAnswers(rapid.IntRange(0, 2).Draw(rt, "lost"))

				outcome, want := m.claim(m.keys[name], m.clock(machine), len(m.held), payload)
				got, err := m.machines[machine].Claim(t.Context(), m.prefix+name, []byte(payload))
				answers[fmt.Sprint(outcome, want != nil)]++
				if !same(err, want) || err == nil && (got.Outcome != outcome || got.Fence() != m.keys[name].fence) {
					rt.Fatalf("claim: %+v, %v; want %s, %v (%+v)", got, err, outcome, want, m.keys[name])
				}

				if err == nil && outcome == once.Replayed && string(got.Result) != m.keys[name].result {
					rt.Fatalf("replayed %q, want %q", got.Result, m.keys[name].result)
				}

				if err == nil && outcome != once.Replayed {
					m.held = append(m.held, holding{key: name, claim: got, number: len(m.held), machine: machine, fence: got.Fence()})
				}
			},
			"step": func(rt *rapid.T) {
				if len(m.held) == 0 {
					rt.Skip("nothing was claimed yet")
				}
				h := &m.held[rapid.IntRange(max(0, len(m.held)-4), len(m.held)-1).Draw(rt, "holder")]
				verb := rapid.SampledFrom([]string{"complete", "complete", "extend", "fail", "release", "unknown"}).Draw(rt, "verb")
				w.loseAnswers(rapid.IntRange(0, 2).Draw(rt, "lost"))

				want := m.step(m.keys[h.key], h, m.clock(h.machine), verb)
				var err error
				switch verb {
				case "complete":
					err = h.claim.Complete(t.Context(), []byte(strconv.Itoa(h.number)))
				case "extend":
					err = h.claim.Extend(t.Context())
				case "fail":
					err = h.claim.Fail(t.Context(), &once.Failure{Code: "Closed"})
				case "release":
					err = h.claim.Release(t.Context())
				case "unknown":
					err = h.claim.Unknown(t.Context())
				}

				answers[fmt.Sprint(verb, want)]++
				if !same(err, want) {
					rt.Fatalf("%s by %d: %v, want %v (%+v)", verb, h.number, err, want, m.keys[h.key])
				}
			},
			"resolve": func(rt *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")
				r, there, err := w.Get(t.Context(), m.prefix+name)
				if err != nil || there != (m.keys[name].status != "") {
					rt.Fatalf("%+v %t %v, want %+v", r, there, err, m.keys[name])
				}

				if r.MayHaveBegun != m.keys[name].begun {
					rt.Fatalf("%+v, want %+v", r, m.keys[name])
				}

				if !there || m.keys[name].status != once.StatusUnknown && !(m.keys[name].status == once.StatusReleased && m.keys[name].begun) {
					return
				}

				if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); err != nil {
					rt.Fatal(err)
				}
				m.keys[name].status, m.keys[name].expires, m.keys[name].begun = once.StatusReleased, m.now/1000+modelRetention, false
			},
			"time": func(rt *rapid.T) {
				ms := rapid.SampledFrom([]int64{1, 999, 30_000, 59_999, 60_000, 62_000, 64_000, 3_600_000, 3_602_000}).Draw(rt, "ms")
				m.now += ms
				w.clock.Advance(time.Duration(ms) * time.Millisecond)
			},
			"sweep": func(rt *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")
				if k := m.keys[name]; k.status != "" && k.expires != 0 && k.expires < m.now/1000 {
					w.sweep(t, m.prefix+name)
					*k = modelKey{}
				}
			},
		})
	})

	// The fewer runs of -short may meet less, by chance.
	if len(answers) < 12 && !testing.Short() {
		t.Errorf("the runs met only %v", answers)
	}
}
