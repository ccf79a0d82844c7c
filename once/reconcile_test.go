package once_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// Do asks the reconciler about a key with an unknown outcome, and goes on if that has become
// known. Any failure on the way is the error of the call.
func TestDoReconcilesAnUnknownOutcome(t *testing.T) {
	charged := once.Resolution{Status: once.StatusCompleted, Result: []byte("charged")}
	gone := func(t *testing.T, w *watchedClaims) { w.sweep(t, "k") }
	resolved := func(t *testing.T, w *watchedClaims) {
		must(t, w.Resolve(t.Context(), w.stored(t, "k"), once.Resolution{Status: once.StatusCompleted, Result: []byte("first")}))
	}

	for about, test := range map[string]struct {
		answer once.Resolution
		err    error
		fault  embeddedtest.Fault
		// before happens before the record is read, or before the write of the resolution.
		before map[string]func(t *testing.T, w *watchedClaims)

		asked, runs int
		result      string
		want        string // a text of the error
	}{
		"the outcome is found":         {answer: charged, asked: 1, result: "charged"},
		"it had no effect":             {answer: once.Resolution{Status: once.StatusReleased}, asked: 1, runs: 1, result: "worked"},
		"the outcome is still unknown": {asked: 1, want: once.ErrUnknownOutcome.Error()},
		"the reconciler fails":         {answer: charged, err: errFarSide, asked: 1, want: "reconcile key#"},
		"the record cannot be read":    {fault: embeddedtest.Answer("AccessDeniedException", "GetItem"), want: "AccessDenied"},
		"the resolution is not stored": {answer: charged, fault: embeddedtest.Answer("AccessDeniedException", "UpdateItem").From(2), asked: 1, want: "resolve key#"},
		"the record is gone":           {before: map[string]func(*testing.T, *watchedClaims){"GetItem": gone}, runs: 1, result: "worked"},
		"another has resolved it":      {before: map[string]func(*testing.T, *watchedClaims){"GetItem": resolved}, answer: charged, result: "first"},
		"another resolves it first":    {before: map[string]func(*testing.T, *watchedClaims){"UpdateItem": resolved}, answer: charged, asked: 1, result: "first"},
	} {
		w := newWatchedClaims(t)
		must(t, take(t, w.Claims, "k").Unknown(t.Context()))
		asked, job := 0, &work{result: []byte("worked")}

		asking := w.with(t, func(c *once.Config) {
			c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
				asked++
				return test.answer, test.err
			}
		})

		w.transport.Inject(test.fault)

		for operation, before := range test.before {
			n := map[string]int{"GetItem": 1, "UpdateItem": 2}[operation]
			w.beforeCall(operation, n, func() { before(t, w) })
		}
		w.outcomes()

		got, _, err := asking.Do(t.Context(), "k", payload, job.do)
		if asked != test.asked || job.calls != test.runs || string(got) != test.result {
			t.Errorf("%s: asked %d times, %d runs, %q, %v", about, asked, job.calls, got, err)
		}

		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", about, err, test.want)
		}

		if seen := w.outcomes(); len(seen) == 0 || seen[0] != "unknown" {
			t.Errorf("%s: observed %v", about, seen)
		}
	}
}

// A failure of DynamoDB is the error of a resolution, which then has not been made.
func TestAResolutionThatIsNotStoredIsAnError(t *testing.T) {
	w := newWatchedClaims(t)
	must(t, take(t, w.Claims, "k").Unknown(t.Context()))
	r := w.stored(t, "k")
	w.outage("UpdateItem")

	for verb, err := range map[string]error{
		"resolve":       w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}),
		"force-release": w.ForceRelease(t.Context(), r, "ada", "stuck"),
	} {
		if !errors.Is(err, errOutage) || !strings.HasPrefix(err.Error(), verb+" key#") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// The next caller of a key that an operator has freed learns whether a former holder may
// have begun the work, and the record stays as long as that matters.
func TestForceReleaseKeepsWhatIsKnownOfTheHolder(t *testing.T) {
	for about, row := range map[string]struct {
		state func(t *testing.T, w *watchedClaims)
		begun bool
	}{
		"in progress":                  {states["held"], true},
		"unknown":                      {states["unknown"], true},
		"completed":                    {states["completed"], false},
		"failed":                       {states["failed"], false},
		"released":                     {states["released"], false},
		"released after it was left":   {func(t *testing.T, w *watchedClaims) { states["left"](t, w); states["released"](t, w) }, true},
		"completed after it was left":  {func(t *testing.T, w *watchedClaims) { states["left"](t, w); states["completed"](t, w) }, false},
		"taken over after it was left": {func(t *testing.T, w *watchedClaims) { states["left"](t, w); states["held"](t, w) }, true},
	} {
		w := newWatchedClaims(t)
		row.state(t, w)
		before := w.stored(t, "k")
		w.clock.Advance(30 * time.Minute)
		must(t, w.ForceRelease(t.Context(), before, "ada", "stuck"))

		after, expires := w.stored(t, "k"), w.clock.Now().Add(time.Hour)
		if row.begun {
			expires = time.Time{}
		}

		if after.MayHaveBegun != row.begun || !after.ExpiresAt.Equal(expires) || after.Fence != before.Fence+1 || !after.UpdatedAt.Equal(w.clock.Now()) {
			t.Errorf("%s: %+v, want its end at %s", about, after, expires)
		}

		if next := take(t, w.Claims, "k"); (next.Outcome == once.TakenOver) != row.begun {
			t.Errorf("%s: the next caller is %s", about, next.Outcome)
		}

		if r := w.stored(t, "k"); r.ReleasedBy != "" || r.Reason != "" || r.ResultBytes != 0 || r.FailureCode != "" {
			t.Errorf("%s: the next claim still has %+v", about, r)
		}
	}
}

// A repeat of a release by an operator is recognized by all that it has written.
func TestForceReleaseRecognizesItsOwnRepeatOnly(t *testing.T) {
	for about, row := range map[string]struct {
		meanwhile  func(t *testing.T, w *watchedClaims, r once.Record)
		by, reason string
		want       error
	}{
		"the same again":               {by: "ada", reason: "stuck"},
		"by another":                   {by: "bob", reason: "stuck", want: once.ErrStaleOwner},
		"for another reason":           {by: "ada", reason: "slow", want: once.ErrStaleOwner},
		"after the record was deleted": {meanwhile: func(t *testing.T, w *watchedClaims, _ once.Record) { w.sweep(t, "k") }, by: "ada", reason: "stuck", want: once.ErrStaleOwner},
		"after the key was claimed":    {meanwhile: func(t *testing.T, w *watchedClaims, _ once.Record) { take(t, w.Claims, "k") }, by: "ada", reason: "stuck", want: once.ErrStaleOwner},
		"after the same was done to it": {meanwhile: func(t *testing.T, w *watchedClaims, _ once.Record) {
			must(t, w.ForceRelease(t.Context(), w.stored(t, "k"), "ada", "stuck"))
		}, by: "ada", reason: "stuck", want: once.ErrStaleOwner},
		"after its answer was lost, twice": {meanwhile: func(_ *testing.T, w *watchedClaims, _ once.Record) { w.loseAnswers(1) }, by: "ada", reason: "stuck"},
	} {
		w := newWatchedClaims(t)
		take(t, w.Claims, "k")
		r := w.stored(t, "k")
		must(t, w.ForceRelease(t.Context(), r, "ada", "stuck"))

		if row.meanwhile != nil {
			row.meanwhile(t, w, r)
		}

		if err := w.ForceRelease(t.Context(), r, row.by, row.reason); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", about, err, row.want)
		}
	}
}

// What is stored as text has a bound, at which it is still taken.
func TestTextsOfARecordAreBounded(t *testing.T) {
	w := newWatchedClaims(t)
	take(t, w.Claims, "k")

	name, reason := strings.Repeat("a", 256), strings.Repeat("r", 1024)
	for _, row := range [][2]string{{name + "a", reason}, {name, reason + "r"}} {
		if err := w.ForceRelease(t.Context(), w.stored(t, "k"), row[0], row[1]); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%d and %d bytes: %v", len(row[0]), len(row[1]), err)
		}
	}
	must(t, w.ForceRelease(t.Context(), w.stored(t, "k"), name, reason))

	long := errors.New(strings.Repeat("m", 2000) + "\xff")
	_, _, first := w.Do(t.Context(), "f", payload, func(context.Context, *once.Claim) ([]byte, error) {
		return nil, once.Fail(strings.Repeat("c", 127)+"\xffd", long)
	})
	_, _, again := w.Do(t.Context(), "f", payload, func(context.Context, *once.Claim) ([]byte, error) { return nil, nil })

	var one, other *once.Failure
	if !errors.As(first, &one) || !errors.As(again, &other) || one.Code != strings.Repeat("c", 127)+"?" || other.Code != one.Code || len(other.Message) != 1024 {
		t.Errorf("%.200v, then %.200v", first, again)
	}
}
