package once_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func TestPoint19_AReplayIsByteEqual(t *testing.T) {
	w := newWatchedClaims(t)
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
	w := newWatchedClaims(t)
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
	w := newWatchedClaims(t)
	held := take(t, w.Claims, "k")
	body := []byte(strings.Repeat("result ", 100<<10)) // 700 KiB: 2 chunks
	w.calls()

	if err := held.Complete(t.Context(), body); err != nil {
		t.Fatal(err)
	}

	if sent := w.calls(); !slices.Equal(sent, []string{"PutItem", "PutItem", "PutItem", "UpdateItem"}[4-len(sent):]) {
		t.Errorf("sent %v, want the record last", sent)
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

	if err := take(t, w.Claims, "too much").Complete(t.Context(), make([]byte, 4<<20+1)); !errors.Is(err, once.ErrInvalid) {
		t.Errorf("beyond the limit: %v", err)
	}

	if err := take(t, w.Claims, "as much as goes").Complete(t.Context(), make([]byte, 4<<20)); err != nil {
		t.Error(err)
	}
}

// bucket keeps results outside the table.
type bucket map[string][]byte

func (b bucket) Put(_ context.Context, name string, body []byte, _ time.Time) error {
	b[name] = body
	return nil
}

func (b bucket) Get(_ context.Context, name string) ([]byte, error) { return b[name], nil }

func TestResultsStoredElsewhereAreCheckedByTheirDigest(t *testing.T) {
	b := bucket{}

	w := newWatchedClaims(t, func(c *once.Config) { c.Inline, c.Results = 8, b })
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

func TestPoint21_WorkIsNotRepeatedBecauseItsResultIsMissing(t *testing.T) {
	w := newWatchedClaims(t)
	large := &work{result: make([]byte, 4<<20+1)}
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
			t.Errorf("a result that has no JSON form: %v", err)
		}
	}
	// An outage of the store after the effect.
	var failing *embeddedtest.Injection
	saved := &work{result: []byte("saved")}
	result, _, err := w.Do(t.Context(), "outage", payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
		failing = w.transport.Inject(embeddedtest.LoseRequest().With(errOutage).Next(5))

		return saved.do(ctx, c)
	})
	if err != nil || string(result) != "saved" || failing.Strikes() != 5 {
		t.Errorf("%q, %v, %d failures", result, err, failing.Strikes())
	}

	if large.calls != 1 || encoded != 1 || saved.calls != 1 {
		t.Errorf("calls: %d, %d, %d", large.calls, encoded, saved.calls)
	}
}

// A large result that cannot be stored does not end the claim, and a large result that cannot be
// read is not replayed with other content. The error names the chunk.
func TestAFailureOfOneChunkIsAnErrorThatNamesIt(t *testing.T) {
	const chunk = 350 << 10
	body := []byte(strings.Repeat("0123456789", chunk/4)) // 2.5 chunks
	denied := func(operation string, n int) embeddedtest.Fault {
		return embeddedtest.Answer("AccessDeniedException", operation).From(n).Next(1)
	}

	for n, text := range []string{"chunk 3 of 3: ", "chunk 2 of 3: ", "chunk 1 of 3: "} { // the first one last
		w := newWatchedClaims(t)
		held := take(t, w.Claims, "k")
		w.transport.Inject(denied("PutItem", n+1))

		if err := held.Complete(t.Context(), body); err == nil || !strings.Contains(err.Error(), "store the result: "+text) {
			t.Errorf("%s: %v", text, err)
		}

		if r := w.stored(t, "k"); r.Status != once.StatusInProgress {
			t.Errorf("%s: the record is %s", text, r.Status)
		}
	}

	w := newWatchedClaims(t)
	must(t, take(t, w.Claims, "k").Complete(t.Context(), body))
	name := textOf(w.record(t, "k")["resultRef"])

	for n := range 3 {
		fault := w.transport.Inject(denied("GetItem", n+1))
		if _, err := w.Claim(t.Context(), "k", payload); !errors.Is(err, once.ErrResultUnavailable) || !strings.Contains(err.Error(), fmt.Sprintf("chunk %d: ", n+1)) {
			t.Errorf("chunk %d cannot be read: %v", n+1, err)
		}
		fault.Remove()
	}

	for n := 2; n >= 0; n-- {
		w.sweep(t, fmt.Sprintf("%s/%d", name, n))

		if _, err := w.Claim(t.Context(), "k", payload); !errors.Is(err, once.ErrResultUnavailable) || !strings.Contains(err.Error(), fmt.Sprintf("chunk %d is gone", n+1)) {
			t.Errorf("chunk %d is gone: %v", n+1, err)
		}
	}
}

// The bounds of a result: at Config.Inline it is in the record, at 350 KiB in one item beside
// it, at 4 MiB in several. Each is read as it was stored.
func TestResultsAtTheirBounds(t *testing.T) {
	const inline = 1 << 10
	w := newWatchedClaims(t, func(c *once.Config) { c.Inline = inline })

	for size, chunks := range map[int]int{inline: 0, inline + 1: 1, 350 << 10: 1, 350<<10 + 1: 2, 4 << 20: 12} {
		key := fmt.Sprint("size ", size)
		body := []byte(strings.Repeat("r", size))
		held := take(t, w.Claims, key)
		w.calls()
		must(t, held.Complete(t.Context(), body))

		if n := w.transport.Count("PutItem"); n != chunks {
			t.Errorf("%s: %d chunks, want %d", key, n, chunks)
		}

		if got := take(t, w.Claims, key); string(got.Result) != string(body) {
			t.Errorf("%s: %d bytes", key, len(got.Result))
		}
	}

	if result, replayed, err := w.Do(t.Context(), "largest", payload, (&work{result: make([]byte, 4<<20)}).do); len(result) != 4<<20 || replayed || err != nil {
		t.Errorf("the largest result of Do: %d bytes, %t, %v", len(result), replayed, err)
	}
}

// The result was stored and only the answers were lost, so nothing is said about a missing result.
func TestAResultThatWasStoredDespiteLostAnswersIsNotMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedClaims(t, func(c *once.Config) { c.Now, c.Inline = time.Now, 8 })
		w.service.clock = nil
		result := []byte("a large result")
		began := time.Now()

		// Until less than half of the lease is left.
		w.transport.Inject(embeddedtest.LoseAnswer("UpdateItem").If(func(c *embeddedtest.Call) bool {
			return bytes.Contains(c.Body(), []byte("resultRef")) && time.Since(began) < 31*time.Second
		}))

		got, replayed, err := w.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return result, nil })
		if string(got) != string(result) || replayed || err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("%q, %t, %v after %s", got, replayed, err, time.Since(began))
		}

		if got, replayed, err := w.Do(t.Context(), "k", payload, (&work{}).do); string(got) != string(result) || !replayed || err != nil {
			t.Errorf("the repeat: %q, %t, %v", got, replayed, err)
		}
	})
}

// resolvedResults is a store that fails, after an operator has ended the work under the key.
type resolvedResults struct{ resolve func() }

func (r resolvedResults) Put(context.Context, string, []byte, time.Time) error {
	r.resolve()
	return errFarSide
}

func (resolvedResults) Get(context.Context, string) ([]byte, error) {
	return nil, once.ErrResultUnavailable
}

// Only a completion that was seen makes the result count as stored.
func TestAResultIsNotStoredBecauseAnOperatorHasEndedItsClaim(t *testing.T) {
	w := newWatchedClaims(t)
	operator := w.with(t)

	resolve := func() {
		if r := w.stored(t, "k"); r.Status == once.StatusInProgress {
			w.clock.Advance(pastLease)
			must(t, operator.Resolve(t.Context(), r, once.Resolution{Status: once.StatusFailed, Failure: &once.Failure{Code: "Lost"}}))
		}
	}
	claims := w.with(t, func(c *once.Config) { c.Inline, c.Lease, c.Results = 8, 2*time.Second, resolvedResults{resolve} })

	if _, _, err := claims.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return make([]byte, 100), nil }); err == nil {
		t.Error("no error")
	}
	refused(t, w.Claims, "k", &once.Failure{Code: "Lost"})
}
