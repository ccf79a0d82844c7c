package notify

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestACircuitOpensAfterFiveFailuresInARow, and again after each probe that fails. Attempts that ran
// when the circuit opened change nothing.
func TestACircuitOpensAfterFiveFailuresInARow(t *testing.T) {
	var c circuit

	for i := 1; i <= 4; i++ {
		if news := c.failed(noon, 0); news || c.limit(noon, 8) != 8 {
			t.Fatalf("open after %d failures", i)
		}
	}

	if news := c.failed(noon, 0); !news || c.opened != 1 || c.limit(noon, 8) != 0 {
		t.Fatalf("not open after 5 failures: %+v", c)
	}
	opened := c

	if news := c.failed(noon, 0); news || c.until != opened.until || c.opened != 1 {
		t.Errorf("an attempt beside it: %+v, then %+v", opened, c)
	}

	if n := c.limit(c.until.Add(-1), 8); n != 0 {
		t.Errorf("%d attempts before its end", n)
	}

	if n := c.limit(c.until, 8); n != 1 {
		t.Errorf("%d probes at once, want 1", n)
	}

	at := c.until
	if news := c.failed(at, 0); !news || c.opened != 2 || !c.until.After(at) {
		t.Errorf("after a probe: %+v", c)
	}

	c.succeeded()

	if n := c.limit(at, 8); n != 8 || c.failures != 0 || c.opened != 0 {
		t.Errorf("after a success: %+v", c)
	}
}

// TestAPauseKeepsTheWorkerFromTheEndpoint: the longest pause counts. The other workers hear of a
// pause that is longer than the time between two reads of the endpoints.
func TestAPauseKeepsTheWorkerFromTheEndpoint(t *testing.T) {
	for _, row := range []struct {
		pause time.Duration
		news  bool
	}{{0, false}, {time.Second, false}, {refreshEvery, false}, {refreshEvery + 1, true}, {time.Hour, true}} {
		var c circuit

		if news := c.failed(noon, row.pause); news != row.news || row.pause > 0 && c.until != noon.Add(row.pause) || row.pause == 0 && !c.until.IsZero() {
			t.Errorf("%v: news %t, %+v", row.pause, news, c)
		}

		// An equal or a shorter pause is no news.
		until := c.until
		for _, shorter := range []time.Duration{row.pause, row.pause / 2} {
			if news := c.failed(noon, shorter); news || c.until != until {
				t.Errorf("%v after %v: news %t, %+v", shorter, row.pause, news, c)
			}
		}
	}

	// The far side's pause is longer than the circuit's.
	c := circuit{failures: failuresToOpen - 1}
	if news := c.failed(noon, time.Hour); !news || c.opened != 1 || c.until != noon.Add(time.Hour) {
		t.Errorf("%+v", c)
	}
}

// TestAnotherWorkersCircuitIsAdoptedOnce, for a day at most, and shortens no pause.
func TestAnotherWorkersCircuitIsAdoptedOnce(t *testing.T) {
	var c circuit
	c.adopt(noon, 3, noon.Add(time.Hour))

	if c.opened != 3 || c.until != noon.Add(time.Hour) || c.limit(noon, 8) != 0 || c.limit(c.until, 8) != 1 {
		t.Errorf("adopted: %+v", c)
	}
	c.succeeded()
	c.adopt(noon, 3, noon.Add(time.Hour))

	if c.opened != 0 || c.limit(noon, 8) != 8 {
		t.Errorf("adopted again after a success: %+v", c)
	}
	c.adopt(noon, 1, noon.Add(365*24*time.Hour))

	if c.until != noon.Add(maxPause) {
		t.Errorf("until %v, want a day at most", c.until)
	}

	own := circuit{opened: 4, until: noon.Add(2 * time.Hour)}
	own.adopt(noon, 1, noon.Add(time.Hour))

	if own.opened != 4 || own.until != noon.Add(2*time.Hour) {
		t.Errorf("shortened: %+v", own)
	}
}

// TestAPauseIsPartOfAnError, if there is an error and a pause: at most a day counts.
func TestAPauseIsPartOfAnError(t *testing.T) {
	failure := errors.New("busy")

	for _, pause := range []time.Duration{-1, 0} {
		if err := RetryAfter(failure, pause); err != failure { //nolint:errorlint // this very error
			t.Errorf("%v: %#v", pause, err)
		}
	}

	if err := RetryAfter(nil, time.Minute); err != nil {
		t.Errorf("no error became %v", err)
	}

	err := fmt.Errorf("send: %w", RetryAfter(failure, time.Minute))
	if !errors.Is(err, failure) || err.Error() != "send: busy" || pauseOf(err) != time.Minute || pauseOf(failure) != 0 {
		t.Errorf("%v asks for %v", err, pauseOf(err))
	}

	if pause := pauseOf(RetryAfter(failure, 48*time.Hour)); pause != 24*time.Hour {
		t.Errorf("a pause of %v", pause)
	}
}
