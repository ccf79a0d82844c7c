package notify

import (
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
)

// TestAnEndpointsItemHasItsHealth: since when it fails, and until when the circuit of a worker is open, which
// counts longest. A success ends both.
func TestAnEndpointsItemHasItsHealth(t *testing.T) {
	s, err := NewEndpoints(EndpointsConfig{DynamoDB: embeddedtest.DynamoDB(t, EndpointTableInput("endpoints")), Table: "endpoints"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.Create(t.Context(), "shop", Settings{Destination: "log:"}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, never := t.Context(), time.Time{}

	for i, step := range []struct {
		do             func() error
		failing, until time.Time
		opened         int
	}{
		{func() error { return s.noteFailure(ctx, "shop", noon) }, noon, never, 0},
		{func() error { return s.noteFailure(ctx, "shop", noon.Add(time.Hour)) }, noon, never, 0},
		{func() error { return s.noteOpen(ctx, "shop", circuit{opened: 3, until: noon.Add(time.Minute)}) }, noon, noon.Add(time.Minute), 3},
		{func() error { return s.noteOpen(ctx, "shop", circuit{opened: 1, until: noon}) }, noon, noon.Add(time.Minute), 3},
		{func() error { return s.noteOpen(ctx, "shop", circuit{opened: 1, until: noon.Add(time.Hour)}) }, noon, noon.Add(time.Hour), 1},
		{func() error { return s.noteSuccess(ctx, "shop") }, never, never, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}

		e, err := s.Get(ctx, "shop")
		if err != nil || !e.FailingSince.Equal(step.failing) || !e.OpenUntil.Equal(step.until) || e.opened != step.opened || e.Status != Active {
			t.Errorf("step %d: %+v, %v", i, e, err)
		}
	}
}

// TestAnEndpointIsDisabledOnce, and only if it has failed for so long.
func TestAnEndpointIsDisabledOnce(t *testing.T) {
	s, err := NewEndpoints(EndpointsConfig{DynamoDB: embeddedtest.DynamoDB(t, EndpointTableInput("endpoints")), Table: "endpoints"})
	if err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"fails", "gone"} {
		if _, err := s.Create(t.Context(), id, Settings{Destination: "log:"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()

	fails := func(before time.Time) func() (bool, error) {
		return func() (bool, error) { return s.disableFailing(ctx, "fails", "for days", before, noon) }
	}

	for i, step := range []struct {
		do   func() (bool, error)
		want bool
	}{
		{fails(noon), false}, // it does not fail
		{func() (bool, error) { return false, s.noteFailure(ctx, "fails", noon) }, false},
		{fails(noon.Add(-time.Millisecond)), false},
		{fails(noon), true},
		{fails(noon), false},
		{func() (bool, error) { return s.disableNow(ctx, "gone", "gone", noon) }, true},
		{func() (bool, error) { return s.disableNow(ctx, "gone", "again", noon.Add(time.Hour)) }, false},
		{func() (bool, error) { return s.disableNow(ctx, "none", "gone", noon) }, false},
	} {
		if got, err := step.do(); err != nil || got != step.want {
			t.Errorf("step %d: disabled %t, %v", i, got, err)
		}
	}

	for id, reason := range map[string]string{"fails": "for days", "gone": "gone"} {
		if e, err := s.Get(ctx, id); err != nil || e.Status != Disabled || e.Reason != reason || !e.DisabledAt.Equal(noon) {
			t.Errorf("%+v, %v", e, err)
		}
	}
}
