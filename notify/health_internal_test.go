package notify

import (
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
)

// newHealthTest returns an endpoint, and a function that reads it.
func newHealthTest(t *testing.T) (*Endpoints, func() Endpoint) {
	t.Helper()

	s, err := NewEndpoints(EndpointsConfig{DynamoDB: embeddedtest.DynamoDB(t, EndpointTableInput("endpoints")), Table: "endpoints"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.Create(t.Context(), "shop", Settings{Destination: "log:"}, nil); err != nil {
		t.Fatal(err)
	}

	return s, func() Endpoint {
		t.Helper()

		e, err := s.Get(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}

		return e
	}
}

// TestAnEndpointsItemHasItsHealth: since when it fails, and until when the circuit of a worker is open, which
// counts longest. A success ends both.
func TestAnEndpointsItemHasItsHealth(t *testing.T) {
	s, get := newHealthTest(t)
	ctx, never := t.Context(), time.Time{}

	fails := func(at time.Time) func() error {
		return func() error {
			e := get()
			next, _ := e.failing(at, time.Hour, time.Hour)
			_, err := s.noteFailure(ctx, e, next, 100*time.Hour, "for days")

			return err
		}
	}
	opens := func(c circuit) func() error { return func() error { return s.noteOpen(ctx, get(), c) } }

	for i, step := range []struct {
		do             func() error
		failing, until time.Time
		opened         int
	}{
		{fails(noon), noon, never, 0},
		{fails(noon.Add(time.Hour)), noon, never, 0},
		{opens(circuit{opened: 3, until: noon.Add(time.Minute)}), noon, noon.Add(time.Minute), 3},
		{opens(circuit{opened: 1, until: noon}), noon, noon.Add(time.Minute), 3},
		{opens(circuit{opened: 1, until: noon.Add(time.Hour)}), noon, noon.Add(time.Hour), 1},
		{func() error { return s.noteSuccess(ctx, get()) }, never, never, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}

		e := get()
		if !e.FailingSince.Equal(step.failing) || !e.OpenUntil.Equal(step.until) || e.opened != step.opened || e.Status != Active {
			t.Errorf("step %d: %+v", i, e)
		}
	}

	if e := get(); e.health != (health{}) {
		t.Errorf("after a success: %+v", e.health)
	}
}

// TestOnlyTimeWithAttemptsCounts: a failure after a silence adds nothing, and few failures are written.
func TestOnlyTimeWithAttemptsCounts(t *testing.T) {
	e, at := Endpoint{}, noon

	for i, step := range []struct {
		after time.Duration
		total time.Duration
		write bool
	}{
		{0, 0, true},
		{time.Hour, time.Hour, true},
		{59 * time.Minute, time.Hour + 59*time.Minute, false},
		{24 * time.Hour, 25 * time.Hour, true},
		{24*time.Hour + time.Second, 25 * time.Hour, true}, // a silence
		{-time.Minute, 25*time.Hour - time.Minute, false},  // another worker was later
		{time.Hour, 26 * time.Hour, true},
	} {
		now := at.Add(step.after)

		next, write := e.failing(now, 120*time.Hour, 24*time.Hour)
		if next.failedFor != step.total || !next.failedAt.Equal(now) || write != step.write {
			t.Errorf("step %d: %+v, written: %t", i, next, write)
		}

		if write {
			e.FailingSince, e.health, at = noon, next, now
		}
	}
}

// TestAnEndpointIsDisabledOnce, and only if it has failed for so long.
func TestAnEndpointIsDisabledOnce(t *testing.T) {
	s, get := newHealthTest(t)
	ctx := t.Context()

	var e Endpoint // as it was read last

	fails := func(at time.Time, read bool) func() (bool, error) {
		return func() (bool, error) {
			if read {
				e = get()
			}
			next, _ := e.failing(at, time.Hour, time.Hour)

			return s.noteFailure(ctx, e, next, time.Hour, "for days")
		}
	}
	gone := func(reason string) func() (bool, error) {
		return func() (bool, error) { return s.disableNow(ctx, get(), reason, noon) }
	}

	for i, step := range []struct {
		do   func() (bool, error)
		want bool
	}{
		{fails(noon, true), false},
		{fails(noon.Add(time.Hour-time.Millisecond), true), false},
		{fails(noon.Add(time.Hour), false), false}, // another worker has counted since
		{fails(noon.Add(time.Hour), true), true},
		{fails(noon.Add(time.Hour), true), false},
		{gone("gone"), false},
	} {
		if got, err := step.do(); err != nil || got != step.want {
			t.Errorf("step %d: disabled %t, %v", i, got, err)
		}
	}

	if e := get(); e.Status != Disabled || e.Reason != "for days" || !e.DisabledAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v", e)
	}

	if _, err := s.Enable(ctx, "shop"); err != nil {
		t.Fatal(err)
	}

	if disabled, err := gone("gone")(); err != nil || !disabled || get().Reason != "gone" {
		t.Errorf("%t, %v, %+v", disabled, err, get())
	}
}

// TestTheAnswersOfAFormerEndpointChangeNothing: one that was changed, or created again, since the attempt began.
func TestTheAnswersOfAFormerEndpointChangeNothing(t *testing.T) {
	s, get := newHealthTest(t)
	ctx := t.Context()

	for name, change := range map[string]func() error{
		"changed": func() error {
			_, err := s.Change(ctx, "shop", func(s *Settings) error { s.Destination += "x"; return nil })
			return err
		},
		"created again": func() error {
			if err := s.Remove(ctx, "shop"); err != nil {
				return err
			}
			_, err := s.Create(ctx, "shop", Settings{Destination: "log:"}, nil)

			return err
		},
	} {
		former := get()

		if err := change(); err != nil {
			t.Fatal(err)
		}

		disabled, err := s.disableNow(ctx, former, "gone", noon)
		if err != nil || disabled {
			t.Errorf("%s: disabled %t, %v", name, disabled, err)
		}

		if _, err := s.noteFailure(ctx, former, health{failedAt: noon}, time.Hour, ""); err != nil {
			t.Error(err)
		}

		if err := s.noteOpen(ctx, former, circuit{opened: 1, until: noon}); err != nil {
			t.Error(err)
		}

		if e := get(); e.Status != Active || !e.FailingSince.IsZero() || !e.OpenUntil.IsZero() {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
