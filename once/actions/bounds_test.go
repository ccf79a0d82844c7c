package actions_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ratchet/once/actions"
)

// jsonText is a JSON string of n bytes.
func jsonText(n int) []byte { return []byte(`"` + strings.Repeat("x", n-2) + `"`) }

// PINs and lives have bounds, and what is at its bound is valid.
func TestPINsAndLivesHaveBounds(t *testing.T) {
	s := newSignedActions(t)
	const longest = 5 * 366 * 24 * time.Hour

	for name, row := range map[string]struct {
		change func(spec *actions.Spec)
		valid  bool
	}{
		"a PIN of 3":                 {func(spec *actions.Spec) { spec.PIN = "123" }, false},
		"a PIN of 4":                 {func(spec *actions.Spec) { spec.PIN = "1234" }, true},
		"a PIN of 64":                {func(spec *actions.Spec) { spec.PIN = actions.PIN(strings.Repeat("1", 64)) }, true},
		"a PIN of 65":                {func(spec *actions.Spec) { spec.PIN = actions.PIN(strings.Repeat("1", 65)) }, false},
		"a payload of 32 KiB":        {func(spec *actions.Spec) { spec.Payload = jsonText(32 << 10) }, true},
		"a payload that is longer":   {func(spec *actions.Spec) { spec.Payload = jsonText(32<<10 + 1) }, false},
		"a payload of no JSON":       {func(spec *actions.Spec) { spec.Payload = []byte("{") }, false},
		"ten tries":                  {func(spec *actions.Spec) { spec.PIN, spec.MaxAttempts = "1234", 10 }, true},
		"eleven tries":               {func(spec *actions.Spec) { spec.PIN, spec.MaxAttempts = "1234", 11 }, false},
		"the longest life":           {func(spec *actions.Spec) { spec.ExpiresAt = s.clock.Now().Add(longest) }, true},
		"a life that is too long":    {func(spec *actions.Spec) { spec.ExpiresAt = s.clock.Now().Add(longest + time.Millisecond) }, false},
		"a life that ends at once":   {func(spec *actions.Spec) { spec.ExpiresAt = s.clock.Now() }, false},
		"active until it has ended":  {func(spec *actions.Spec) { spec.ActiveAt = spec.ExpiresAt }, false},
		"active for one millisecond": {func(spec *actions.Spec) { spec.ActiveAt = spec.ExpiresAt.Add(-time.Millisecond) }, true},
	} {
		spec := actions.Spec{ExpiresAt: s.clock.Now().Add(time.Hour)}
		row.change(&spec)

		if _, err := s.Create(t.Context(), spec); row.valid != (err == nil) || !row.valid && !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A batch may begin at its end, which makes nothing.
func TestBatchesHaveBounds(t *testing.T) {
	s := newSignedActions(t)
	for name, row := range map[string]struct {
		change func(b *actions.Batch)
		made   int
		valid  bool
	}{
		"all of it":                    {func(*actions.Batch) {}, 3, true},
		"the last":                     {func(b *actions.Batch) { b.From = 2 }, 1, true},
		"nothing":                      {func(b *actions.Batch) { b.From = 3 }, 0, true},
		"beyond its end":               {func(b *actions.Batch) { b.From = 4 }, 0, false},
		"before its begin":             {func(b *actions.Batch) { b.From = -1 }, 0, false},
		"as many at once as may be":    {func(b *actions.Batch) { b.Parallel = 256 }, 3, true},
		"one at a time":                {func(b *actions.Batch) { b.Parallel = 1 }, 3, true},
		"more at once than may be":     {func(b *actions.Batch) { b.Parallel = 257 }, 0, false},
		"less than one at a time":      {func(b *actions.Batch) { b.Parallel = -1 }, 0, false},
		"a million and one":            {func(b *actions.Batch) { b.Count = 1_000_001 }, 0, false},
		"the last one of a million":    {func(b *actions.Batch) { b.Count, b.From = 1_000_000, 999_999 }, 1, true},
		"as many as between two calls": {func(b *actions.Batch) { b.Count = 256 }, 256, true},
	} {
		b := coupons(3)
		row.change(&b)
		made := 0

		err := s.Bulk(t.Context(), b, func(actions.BatchAction) error { made++; return nil })
		if row.valid != (err == nil) || made != row.made || !row.valid && !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("%s: %d made, %v", name, made, err)
		}
	}
}

// An action says until when it is held as long as it is, and at no other time.
func TestAnActionSaysUntilWhenItIsHeld(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, nil)

	if a, found, err := s.Get(t.Context(), made.ID); err != nil || !found || !a.HeldUntil.IsZero() {
		t.Errorf("not held: %+v, %v", a, err)
	}

	if r, err := s.Reserve(t.Context(), actions.Request{ID: made.ID, Holder: "me"}, time.Minute); err != nil || r.Outcome != actions.Reserved {
		t.Fatal(r, err)
	}

	if a, _, err := s.Get(t.Context(), made.ID); err != nil || !a.HeldUntil.After(s.clock.Now()) {
		t.Errorf("held: %+v, %v", a, err)
	}
}

// Holds of 1 s and 24 h are valid, and a hold ends with its action to the millisecond.
func TestHoldsHaveBounds(t *testing.T) {
	for hold, valid := range map[time.Duration]bool{
		time.Second - time.Millisecond: false, time.Second: true, 24 * time.Hour: true, 24*time.Hour + time.Millisecond: false,
	} {
		s := newSignedActions(t)
		id := s.make(t, nil).ID

		if r, err := s.Reserve(t.Context(), actions.Request{ID: id, Holder: "me"}, hold); valid != (err == nil) || valid != (r.Outcome == actions.Reserved) {
			t.Errorf("%s: %s, %v", hold, r.Outcome, err)
		}
	}

	for at, want := range map[time.Duration]actions.Outcome{time.Hour - time.Millisecond: actions.Released, time.Hour: actions.Expired} {
		s := newSignedActions(t)
		request := actions.Request{ID: s.make(t, nil).ID, Holder: "me"}
		held, err := s.Reserve(t.Context(), request, 2*time.Hour)
		outcome(t, held, err, actions.Reserved)
		request.Fence = held.Fence
		s.clock.Advance(at)

		released, err := s.Release(t.Context(), request)
		outcome(t, released, err, want)
	}
}

// The second in an id is the first one at or after the end of its action.
func TestAnIDKnowsTheSecondOfItsEnd(t *testing.T) {
	for life, seconds := range map[time.Duration]time.Duration{
		time.Hour: time.Hour, time.Hour + time.Millisecond: time.Hour + time.Second, time.Hour + time.Second - time.Millisecond: time.Hour + time.Second,
	} {
		s := newSignedActions(t)
		id := s.make(t, func(spec *actions.Spec) { spec.ExpiresAt = start.Add(life) }).ID
		s.remove(t)

		for at, want := range map[time.Duration]actions.Outcome{seconds - time.Millisecond: actions.NotFound, seconds: actions.Expired} {
			s.clock.Set(start.Add(at))
			s.want(t, actions.Request{ID: id}, want)
		}
	}
}

// A code may be typed with hyphens between any characters, up to 128 characters in all.
func TestTypedCodesHaveABound(t *testing.T) {
	s := newSignedActions(t)
	codes, _ := s.bulk(t, coupons(2))

	for i, want := range []actions.Outcome{actions.Consumed, actions.NotFound} {
		code := string(codes[i])
		s.want(t, actions.Request{ID: actions.ID(code + strings.Repeat("-", 128+i-len(code)))}, want)
	}
}

// For others a hold ends a margin later than for its holder, to the millisecond.
func TestAHoldEndsToTheMillisecond(t *testing.T) {
	const margin = 2 * time.Second // the default
	consume := func(s *signedActions, id actions.ID) (actions.Result, error) {
		return s.Consume(t.Context(), actions.Request{ID: id})
	}
	reserve := func(holder string) func(*signedActions, actions.ID) (actions.Result, error) {
		return func(s *signedActions, id actions.ID) (actions.Result, error) {
			return s.Reserve(t.Context(), actions.Request{ID: id, Holder: holder}, time.Minute)
		}
	}

	for about, row := range map[string]struct {
		call  func(*signedActions, actions.ID) (actions.Result, error)
		ends  time.Duration // after the hold's own end
		until actions.Outcome
		then  actions.Outcome
		fence int64 // of the hold then
	}{
		"another consumes":       {consume, margin, actions.Held, actions.Consumed, 0},
		"another reserves":       {reserve("another"), margin, actions.Held, actions.Reserved, 2},
		"the holder reserves it": {reserve("me"), 0, actions.Reserved, actions.Reserved, 2},
	} {
		for late, want := range map[time.Duration]actions.Outcome{-time.Millisecond: row.until, 0: row.then} {
			s := newSignedActions(t)
			id := s.make(t, nil).ID
			held, err := reserve("me")(s, id)
			outcome(t, held, err, actions.Reserved)
			s.clock.Set(held.HeldUntil.Add(row.ends + late))

			got, err := row.call(s, id)
			outcome(t, got, err, want)

			if late == 0 && got.Fence != row.fence || late < 0 && got.Fence > held.Fence {
				t.Errorf("%s, %s late: fence %d", about, late, got.Fence)
			}
		}
	}
}

// A chosen code is remembered without end, so the winner's repeat is recognized without end.
func TestTheWinnerOfAChosenCodeIsAlwaysRecognized(t *testing.T) {
	s := newSignedActions(t)
	id := s.make(t, func(spec *actions.Spec) { spec.Code, spec.PIN = "SUMMER-24", "1234" }).ID
	winner := actions.Request{ID: id, PIN: "1234", ConsumeID: "c"}
	s.want(t, winner, actions.Consumed)
	s.clock.Advance(365 * 24 * time.Hour)

	if again := s.want(t, winner, actions.Consumed); !again.Replayed {
		t.Errorf("%+v", again)
	}
}
