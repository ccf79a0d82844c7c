package once_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/once"
)

// work counts its calls.
type work struct {
	calls  int
	result []byte
	err    error
}

func (w *work) do(context.Context, *once.Claim) ([]byte, error) {
	w.calls++
	return w.result, w.err
}

func TestPoint14_EqualJSONHasOneFingerprint(t *testing.T) {
	for name, texts := range map[string][2]string{
		"order of members":   {`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		"white space":        {`{"a": [1 , 2]}`, "{\"a\":[1,2]}\n"},
		"spelling of 1":      {`[1,1,1]`, `[1.0,1e0,10E-1]`},
		"minus zero":         {`-0`, `0`},
		"escapes":            {`"\u00e9\/\t"`, `"é/\u0009"`},
		"a surrogate pair":   {`"\ud83d\ude00"`, `"😀"`},
		"the largest number": {`9007199254740991`, `9007199254740991.0`},
	} {
		a, errA := once.Canonical([]byte(texts[0]))
		b, errB := once.Canonical([]byte(texts[1]))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s: %s and %s (%v, %v)", name, a, b, errA, errB)
		}
	}
	for name, texts := range map[string][2]string{
		"names that differ in case": {`{"a":1,"A":2}`, `{"a":2,"A":1}`},
		"null and absent":           {`{"a":null}`, `{}`},
		"number and text":           {`1`, `"1"`},
		"order of elements":         {`[1,2]`, `[2,1]`},
		"decimals":                  {`0.1`, `0.2`},
	} {
		a, errA := once.Canonical([]byte(texts[0]))
		b, errB := once.Canonical([]byte(texts[1]))
		if errA != nil || errB != nil || string(a) == string(b) {
			t.Errorf("%s: %s and %s (%v, %v)", name, a, b, errA, errB)
		}
	}
	for name, text := range map[string]string{
		"a name twice": `{"a":1,"a":2}`, "beyond 2^53": `9007199254740993`, "far beyond": `1e400`, "a lone surrogate": `"\ud83d"`,
		"invalid UTF-8": "\"\xff\"", "two values": `1 2`, "none": ``, "cut off": `{"a":`, "as a member": `{"n":-9007199254740993}`,
	} {
		if out, err := once.Canonical([]byte(text)); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}

func TestPoint14_PayloadsOfAnEarlierSchemeAreRecognisedDuringARollOut(t *testing.T) {
	w := newWorld(t)
	asJSON := w.with(t, func(c *once.Config) { c.Payload = once.JSON })
	const first, same, other = `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1}`
	claim := func(c *once.Claims, key, text string, want error) {
		t.Helper()
		if _, err := c.Claim(t.Context(), key, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%s %s: %v, want %v", key, text, err, want)
		}
	}
	claim(w.Claims, "exact", first, nil)
	claim(asJSON, "exact", first, once.ErrInProgress) // recognised
	claim(asJSON, "exact", other, once.ErrMismatch)
	claim(asJSON, "json", first, nil)
	claim(asJSON, "json", same, once.ErrInProgress)
	claim(w.Claims, "json", first, once.ErrInProgress)
	claim(w.Claims, "json", other, once.ErrMismatch)
	claim(asJSON, "bad", "{", once.ErrInvalid)
}

func TestPoint19_AReplayIsByteEqual(t *testing.T) {
	w := newWorld(t)
	cached := w.with(t, func(c *once.Config) { c.Cache = 100 })
	for name, result := range map[string][]byte{
		"nothing": nil, "empty": {}, "empty text": []byte(`""`), "zero": []byte("0"), "false": []byte("false"), "list": []byte("[]"), "object": []byte("{}"),
		"the record's own names": []byte(`{"idempotencyKey":"k","status":"FAILED","result":null}`), "no text": {0xff, 0}, "much": []byte(strings.Repeat("x", 1<<20)),
	} {
		for _, c := range []*once.Claims{w.Claims, cached} {
			key := fmt.Sprintf("%s/%t", name, c == cached)
			job := &work{result: result}
			for i := range 3 {
				got, replayed, err := c.Do(t.Context(), key, payload, job.do)
				if err != nil || replayed != (i > 0) || string(got) != string(result) || (got == nil) != (result == nil) {
					t.Errorf("%s, call %d: %.60q (nil: %t), replayed %t, %v", key, i, got, got == nil, replayed, err)
				}
			}
			if job.calls != 1 {
				t.Errorf("%s: %d calls", key, job.calls)
			}
		}
	}
}

func TestValuesAreStoredAsJSON(t *testing.T) {
	w := newWorld(t)
	type receipt struct{ Number int }
	for i := range 2 {
		got, replayed, err := once.Do(t.Context(), w.Claims, "k", map[string]int{"amount": 7}, func(context.Context, *once.Claim) (*receipt, error) {
			return &receipt{42}, nil
		})
		if err != nil || got.Number != 42 || replayed != (i == 1) {
			t.Errorf("%+v %t %v", got, replayed, err)
		}
	}
	none, _, err := once.Do(t.Context(), w.Claims, "nil", nil, func(context.Context, *once.Claim) (*receipt, error) { return nil, nil })
	if none != nil || err != nil {
		t.Errorf("%v %v", none, err)
	}
}

func TestPoint20_ALargeResultIsStoredBeforeTheRecordPointsToIt(t *testing.T) {
	w := newWorld(t)
	held := take(t, w.Claims, "k")
	body := []byte(strings.Repeat("result ", 100<<10)) // 700 KiB: 2 chunks
	w.wire.requests()
	if err := held.Complete(t.Context(), body); err != nil {
		t.Fatal(err)
	}
	if sent := w.wire.requests(); !slices.Equal(sent, []string{"PutItem", "PutItem", "PutItem", "UpdateItem"}[4-len(sent):]) {
		t.Errorf("sent %v: the record comes last", sent)
	}
	name := textOf(w.record(t, "k")["resultRef"])
	first := w.record(t, name+"/0")
	r, _, err := w.Get(t.Context(), "k")
	if err != nil || r.ResultBytes != int64(len(body)) {
		t.Errorf("%+v, %v", r, err)
	}
	if expires := numberOf(first["expiresAt"]); expires < r.ExpiresAt.Unix() {
		t.Errorf("the chunks expire at %d, the record at %d", expires, r.ExpiresAt.Unix())
	}
	if got := take(t, w.Claims, "k"); string(got.Result) != string(body) {
		t.Errorf("%d bytes", len(got.Result))
	}
	w.sweep(t, name+"/1")
	refused(t, w.Claims, "k", once.ErrResultUnavailable)
	if err := take(t, w.Claims, "too much").Complete(t.Context(), make([]byte, once.MaxResult+1)); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := take(t, w.Claims, "as much as goes").Complete(t.Context(), make([]byte, once.MaxResult)); err != nil {
		t.Error(err)
	}
}

// bucket is a place for results outside the table.
type bucket map[string][]byte

func (b bucket) Put(_ context.Context, name string, body []byte, _ time.Time) error {
	b[name] = body
	return nil
}

func (b bucket) Get(_ context.Context, name string) ([]byte, error) { return b[name], nil }

func TestResultsMayLieElsewhereAndAreCheckedByTheirDigest(t *testing.T) {
	b := bucket{}
	w := newWorld(t, func(c *once.Config) { c.Inline, c.Results = 8, b })
	if err := take(t, w.Claims, "k").Complete(t.Context(), []byte("more than eight")); err != nil {
		t.Fatal(err)
	}
	if got := take(t, w.Claims, "k"); string(got.Result) != "more than eight" || len(b) != 1 {
		t.Errorf("%q, %v", got.Result, b)
	}
	for name := range b {
		b[name] = []byte("something else!")
	}
	refused(t, w.Claims, "k", once.ErrResultUnavailable)
}

func TestPoint21_WorkThatWasDoneIsNotRepeatedForWantOfItsResult(t *testing.T) {
	w := newWorld(t)
	large := &work{result: make([]byte, once.MaxResult+1)}
	for range 2 {
		if _, _, err := w.Do(t.Context(), "large", payload, large.do); !errors.Is(err, once.ErrResultUnavailable) {
			t.Errorf("a result beyond the limit: %v", err)
		}
	}
	encoded := 0
	for range 2 {
		_, _, err := once.Do(t.Context(), w.Claims, "unencodable", nil, func(context.Context, *once.Claim) (float64, error) {
			encoded++
			return math.NaN(), nil
		})
		if !errors.Is(err, once.ErrResultUnavailable) {
			t.Errorf("a result that is no JSON: %v", err)
		}
	}
	// An outage of the store after the effect.
	failing := 5
	saved := &work{result: []byte("saved")}
	result, _, err := w.Do(t.Context(), "outage", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		w.wire.breaks(func(target string) error {
			if failing--; failing >= 0 {
				return errWire
			}
			return nil
		}, nil)
		return saved.do(ctx, c)
	})
	if err != nil || string(result) != "saved" || failing > 0 {
		t.Errorf("%q, %v, %d failures left", result, err, failing)
	}
	if large.calls != 1 || encoded != 1 || saved.calls != 1 {
		t.Errorf("calls: %d, %d, %d", large.calls, encoded, saved.calls)
	}
}

var (
	errDeclined = errors.New("card declined")
	errFunds    = &fundsError{Missing: 7}
)

type fundsError struct{ Missing int }

func (e *fundsError) Error() string { return fmt.Sprintf("%d missing", e.Missing) }

func TestPoint22_TheClassOfTheErrorDecidesWhatBecomesOfTheKey(t *testing.T) {
	w := newWorld(t, func(c *once.Config) {
		c.Failures = map[string]error{"Declined": errDeclined, "Funds": errFunds}
	})
	t.Run("retryable: released", func(t *testing.T) {
		job := &work{err: errors.New("busy")}
		for range 2 {
			if _, replayed, err := w.Do(t.Context(), "busy", payload, job.do); err == nil || replayed {
				t.Errorf("%v %t", err, replayed)
			}
		}
		if job.calls != 2 {
			t.Errorf("%d calls", job.calls)
		}
	})
	t.Run("final: replayed with its identity", func(t *testing.T) {
		for name, want := range map[string]error{"registered": fmt.Errorf("charge: %w", errDeclined), "registered type": fmt.Errorf("charge: %w", errFunds),
			"coded": once.Fail("Closed", errors.New("account closed"))} {
			job := &work{err: want}
			for i := range 3 {
				_, replayed, err := w.Do(t.Context(), name, payload, job.do)
				var f *once.Failure
				if !errors.As(err, &f) || replayed != (i > 0) || f.Message != want.Error() {
					t.Fatalf("%s, call %d: %v (%+v), replayed %t", name, i, err, f, replayed)
				}
				var funds *fundsError
				switch name {
				case "registered":
					if !errors.Is(err, errDeclined) {
						t.Errorf("call %d: errors.Is does not find it: %v", i, err)
					}
				case "registered type":
					if !errors.As(err, &funds) || funds.Missing != 7 {
						t.Errorf("call %d: errors.As does not find it: %v", i, err)
					}
				default:
					if !errors.Is(err, &once.Failure{Code: "Closed"}) || errors.Is(err, &once.Failure{Code: "Declined"}) {
						t.Errorf("call %d: its code is its identity: %v", i, err)
					}
				}
			}
			if job.calls != 1 {
				t.Errorf("%s: %d calls", name, job.calls)
			}
		}
	})
	t.Run("ambiguous: only a reconciler moves it", func(t *testing.T) {
		job := &work{err: fmt.Errorf("gateway: %w", once.ErrAmbiguous)}
		if _, _, err := w.Do(t.Context(), "lost", payload, job.do); !errors.Is(err, once.ErrAmbiguous) {
			t.Fatal(err)
		}
		w.clock.advance(365 * 24 * time.Hour)
		refused(t, w.Claims, "lost", once.ErrUnknownOutcome)
		var asked []string
		answer := once.Resolution{}
		asking := w.with(t, func(c *once.Config) {
			c.Reconcile = func(_ context.Context, r once.Record) (once.Resolution, error) {
				asked = append(asked, r.Key)
				return answer, nil
			}
		})
		if _, _, err := asking.Do(t.Context(), "lost", payload, job.do); !errors.Is(err, once.ErrUnknownOutcome) {
			t.Errorf("the reconciler does not know either: %v", err)
		}
		answer = once.Resolution{Status: once.StatusCompleted, Result: []byte("charged")}
		got, replayed, err := asking.Do(t.Context(), "lost", payload, job.do)
		if string(got) != "charged" || !replayed || err != nil {
			t.Errorf("%q %t %v", got, replayed, err)
		}
		if job.calls != 1 || len(asked) != 2 {
			t.Errorf("%d calls, asked %v", job.calls, asked)
		}
	})
}

func TestPoint23_AClaimIsEndedAlsoWhenItsCallerHasGone(t *testing.T) {
	w := newWorld(t)
	t.Run("cancelled during the work", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := w.Do(ctx, "cancelled", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
			cancel()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		take(t, w.Claims, "cancelled")
	})
	t.Run("cancelled, and the work was done", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := w.Do(ctx, "done", payload, func(context.Context, *once.Claim) ([]byte, error) {
			cancel()
			return []byte("done"), nil
		})
		if got := take(t, w.Claims, "done"); err != nil || string(got.Result) != "done" {
			t.Errorf("%q, %v", got.Result, err)
		}
	})
	t.Run("cancelled while the claim was on its way", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w.wire.breaks(nil, func(_ string, r *http.Response) (*http.Response, error) {
			w.wire.breaks(nil, nil)
			cancel()
			_ = r.Body.Close()
			return nil, context.Canceled
		})
		if _, err := w.Claim(ctx, "sent", payload); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		take(t, w.Claims, "sent")
	})
	t.Run("a panic", func(t *testing.T) {
		func() {
			defer func() {
				if recover() != "broken" {
					t.Error("the panic was swallowed")
				}
			}()
			_, _, _ = w.Do(t.Context(), "panic", payload, func(context.Context, *once.Claim) ([]byte, error) { panic("broken") })
		}()
		take(t, w.Claims, "panic")
	})
	t.Run("a panic that may have had its effect", func(t *testing.T) {
		careful := w.with(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
		func() {
			defer func() { _ = recover() }()
			_, _, _ = careful.Do(t.Context(), "careful", payload, func(context.Context, *once.Claim) ([]byte, error) { panic("broken") })
		}()
		refused(t, careful, "careful", once.ErrUnknownOutcome)
	})
}

func TestAClaimWhoseLeaseEndedIsDoubtedWhereWorkMustNotBeRepeated(t *testing.T) {
	w := newWorld(t, func(c *once.Config) { c.ExpiredIsUnknown = true })
	held := take(t, w.Claims, "k")
	w.clock.advance(time.Hour + 2*time.Second) // its retention does not free it
	refused(t, w.Claims, "k", once.ErrUnknownOutcome)
	if err := held.Complete(t.Context(), nil); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("the former holder: %v", err)
	}
	r, _, err := w.Get(t.Context(), "k")
	if err != nil || r.Status != once.StatusUnknown || !r.ExpiresAt.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); err != nil {
		t.Fatal(err)
	}
	if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); err != nil {
		t.Errorf("again, as after a lost answer: %v", err)
	}
	take(t, w.Claims, "k")
	if err := w.Resolve(t.Context(), r, once.Resolution{Status: once.StatusReleased}); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("the key has moved on: %v", err)
	}
}

func TestPoint24_WhoWaitsGivesUpWithoutTouchingTheRecord(t *testing.T) {
	w := newWorld(t)
	held := take(t, w.Claims, "k")
	before := w.record(t, "k")
	w.wire.requests()
	if _, err := w.Waiting(100*time.Millisecond).Claim(t.Context(), "k", payload); !errors.Is(err, once.ErrInProgress) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := w.Waiting(time.Hour).Claim(ctx, "k", payload); !errors.Is(err, once.ErrInProgress) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context bounds the patience: %v", err)
	}
	if n := slices.Collect(countOf(w.wire.requests(), "UpdateItem")); len(n) != 2 {
		t.Errorf("%d writes, one for each call", len(n))
	}
	if after := w.record(t, "k"); fmt.Sprint(numberOf(after["updatedAt"]), textOf(after["owner"])) != fmt.Sprint(numberOf(before["updatedAt"]), textOf(before["owner"])) {
		t.Error("the record was touched")
	}
	done := make(chan error, 1)
	go func() {
		got, err := w.Waiting(time.Minute).Claim(t.Context(), "k", payload)
		if err == nil && string(got.Result) != "r" {
			err = fmt.Errorf("result %q", got.Result)
		}
		done <- err
	}()
	if err := held.Complete(t.Context(), []byte("r")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("who waits gets the result: %v", err)
	}
}

func countOf(all []string, one string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, s := range all {
			if s == one && !yield(s) {
				return
			}
		}
	}
}

func TestWhoWaitsTakesOverAndWaitersOfOneKeyShareOneExecution(t *testing.T) {
	w := newWorld(t)
	take(t, w.Claims, "crashed")
	w.clock.advance(time.Minute + 2*time.Second - time.Millisecond)
	go w.clock.advance(time.Second)
	if got, err := w.Waiting(time.Minute).Claim(t.Context(), "crashed", payload); err != nil || got.Outcome != once.TakenOver {
		t.Errorf("%+v, %v", got, err)
	}
	job := &work{result: []byte("r")}
	results := make(chan string, 20)
	for range cap(results) {
		go func() {
			got, _, err := w.Waiting(time.Minute).Do(t.Context(), "shared", payload, job.do)
			results <- fmt.Sprint(string(got), err)
		}()
	}
	for range cap(results) {
		if got := <-results; got != "r<nil>" {
			t.Error(got)
		}
	}
	if job.calls != 1 {
		t.Errorf("%d calls", job.calls)
	}
}

func TestWhoHasWaitedHasTheWholeLease(t *testing.T) {
	w := newWorld(t, func(c *once.Config) { c.Lease, c.Margin, c.Now = 300*time.Millisecond, time.Millisecond, time.Now })
	w.wire.service = nil
	began := time.Now()
	take(t, w.Claims, "k")
	_, _, err := w.Waiting(time.Minute).Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		if end, _ := ctx.Deadline(); end.Sub(began) < 595*time.Millisecond { // the other's lease, and the whole of its own
			t.Errorf("the work ends %s after the other one began", end.Sub(began))
		}
		return nil, once.Fail("Over", nil) // ended within the lease or not: not what this is about
	})
	if errors.Is(err, once.ErrInProgress) {
		t.Error(err)
	}
}

func TestPoint25_PastItsRetentionAKeyIsNewAndItsFenceGoesOn(t *testing.T) {
	w := newWorld(t)
	first := take(t, w.Claims, "k")
	if err := first.Complete(t.Context(), []byte("old")); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(time.Hour)
	if got := take(t, w.Claims, "k"); got.Outcome != once.Replayed {
		t.Errorf("within the retention: %s", got.Outcome)
	}
	w.clock.advance(time.Second)
	again, err := w.Claim(t.Context(), "k", []byte("new payload"))
	if err != nil || again.Outcome != once.Acquired || again.Fence() != first.Fence()+1 {
		t.Fatalf("%+v, %v", again, err)
	}
	if err := again.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Claim(t.Context(), "k", []byte("new payload")); err != nil || got.Result != nil {
		t.Errorf("nothing is left of the old result: %+v, %v", got, err)
	}
}

func TestPoint26_TheCacheKnowsOnlyWhatHasEnded(t *testing.T) {
	w := newWorld(t, func(c *once.Config) { c.Cache = 2 })
	reads := func(key string, in []byte, want error) int {
		t.Helper()
		w.wire.requests()
		if _, err := w.Claim(t.Context(), key, in); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", key, err, want)
		}
		return len(w.wire.requests())
	}
	held := take(t, w.Claims, "a")
	if n := reads("a", payload, once.ErrInProgress); n != 1 {
		t.Errorf("in progress is not remembered: %d requests", n)
	}
	if err := held.Complete(t.Context(), []byte("a")); err != nil {
		t.Fatal(err)
	}
	if n := reads("a", payload, nil); n != 0 {
		t.Errorf("completed is: %d requests", n)
	}
	if n := reads("a", []byte("other"), once.ErrMismatch); n != 0 {
		t.Errorf("and the payload compared: %d requests", n)
	}
	for _, key := range []string{"b", "c"} {
		if _, _, err := w.Do(t.Context(), key, payload, (&work{}).do); err != nil {
			t.Fatal(err)
		}
	}
	if n := reads("a", payload, nil); n != 1 {
		t.Errorf("two are remembered, not three: %d requests", n)
	}
	first := take(t, w.Claims, "a")
	copy(first.Result, "X")
	if got := take(t, w.Claims, "a"); string(got.Result) != "a" {
		t.Errorf("the caller's copy is the caller's: %q", got.Result)
	}
	w.clock.advance(time.Hour + time.Second)
	if n := reads("a", payload, nil); n == 0 {
		t.Error("past its retention it is forgotten")
	}
	final := once.Fail("Closed", nil)
	for i := range 3 {
		w.wire.requests()
		_, _, err := w.Do(t.Context(), "failed", payload, (&work{err: final}).do)
		if n := len(w.wire.requests()); !errors.Is(err, final) || i == 2 && n != 0 {
			t.Errorf("call %d: %v, %d requests", i, err, n)
		}
	}
}

func TestTheLeaseIsExtendedWhileTheWorkRuns(t *testing.T) {
	w := newWorld(t, func(c *once.Config) { c.Lease, c.Heartbeat, c.Now = 2*time.Second, true, time.Now })
	w.wire.service = nil
	_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		until := func() time.Time { r, _, _ := w.Get(t.Context(), "k"); return r.LeaseUntil }
		first := until()
		for !until().After(first) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
	_, _, err = w.Do(t.Context(), "lost", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		r, _, err := w.Get(t.Context(), "lost")
		if err == nil {
			err = w.ForceRelease(t.Context(), r, "ops", "test")
		}
		if err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	if !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("who has lost the claim is told: %v", err)
	}
}

func TestWithoutAHeartbeatTheWorkEndsWithTheLease(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.Do(t.Context(), "k", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		end, ok := ctx.Deadline()
		if left := time.Until(end); !ok || left > time.Minute || left < 50*time.Second {
			t.Errorf("the work has %s", left)
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
	short := w.with(t, func(c *once.Config) { c.Lease = time.Millisecond })
	_, _, err = short.Do(t.Context(), "short", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	if !errors.Is(err, once.ErrLeaseExpired) {
		t.Errorf("%v", err)
	}
}
