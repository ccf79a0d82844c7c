package lanes

import (
	"strconv"
	"testing"
	"time"

	"ratchet/streams"
	"ratchet/streams/calls"
)

func TestTheCircuitOpensForSeveralItemsAndAdmitsOneProbe(t *testing.T) {
	h := streams.Handler{Retry: calls.Merge(streams.Retry{Base: time.Second, Max: time.Hour}, calls.DefaultRetry), Timeout: time.Minute}
	c := newCircuit(&h)
	now := time.Now()

	for range 100 {
		if c.failedFor("one item", now) {
			t.Fatal("one item that fails opened the circuit")
		}
	}

	for i := range circuitItems - 2 {
		c.failedFor(strconv.Itoa(i), now)
	}

	if c.Admit(now) != 0 {
		t.Error("refused a call although the circuit is closed")
	}

	if !c.failedFor("last", now) || c.failedFor("was running", now) {
		t.Error("the circuit did not open once")
	}

	if wait := c.Admit(now); wait < 500*time.Millisecond || wait > time.Second {
		t.Errorf("first pause %v", wait)
	}

	now = now.Add(time.Second)
	if c.Admit(now) != 0 {
		t.Error("want a probe")
	}

	// A second call waits for the probe, but not for as long as that may take at most.
	if wait := c.Admit(now); wait <= 0 || wait > time.Second {
		t.Errorf("wait %v for the probe", wait)
	}

	c.undecided(now)

	if c.Admit(now) != 0 {
		t.Error("a probe that told nothing is not repeated at once")
	}

	for range 20 {
		c.failedFor("probe", now)

		wait := c.Admit(now)
		if wait > circuitMaxPause {
			t.Fatalf("pause %v", wait)
		}
		now = now.Add(wait)
		c.Admit(now)
	}

	if !c.succeeded() || c.Open() || c.Admit(now) != 0 || c.succeeded() {
		t.Error("a success did not close the circuit once")
	}
}
