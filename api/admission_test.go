package api

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestATenantHasAShare: with as many callers as it likes, one tenant leaves room for another.
func TestATenantHasAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoadShedder(share(16), share(32))

		var served atomic.Int32
		for i := range 100 {
			go func() {
				if _, p := l.acquire(t.Context(), party{fmt.Sprint("key ", i), "acme"}); p == nil {
					served.Add(1)
				}
			}()
		}
		synctest.Wait()

		if n := served.Load(); n != 14 {
			t.Errorf("a tenant has %d of 16 slots", n)
		}

		release, p := l.acquire(t.Context(), party{"key", "globex"})
		if p != nil {
			t.Fatalf("another tenant: %v", p)
		}
		release()
		time.Sleep(2 * maxQueueWait)
	})
}

// TestStreamsOfOneTenant: 63 keys of a tenant, each within its own limit, do not take the streams of others.
func TestStreamsOfOneTenant(t *testing.T) {
	w := &watchRegistry{perCaller: 16, inUse: newUsage()}

	open := func(by party) bool {
		if w.full(by) != nil {
			return false
		}
		w.inUse.add(by)

		return true
	}

	taken := 0
	for key := range 63 {
		for range 16 {
			if open(party{fmt.Sprint(key), "acme"}) {
				taken++
			}
		}
	}

	if taken != maxTenantWatches {
		t.Errorf("one tenant has %d streams", taken)
	}

	if p := w.full(party{"62", "acme"}); p == nil || p.Detail != "The tenant has 750 of the 1000 streams of this server open, which is its share." {
		t.Errorf("the tenant learns %v", p)
	}

	if !open(party{"key", "globex"}) {
		t.Error("another tenant gets none")
	}
}

// TestSlowUnsignedBodiesGiveWay: the sender of the most bodies loses its oldest one.
func TestSlowUnsignedBodiesGiveWay(t *testing.T) {
	u, ended := newUnsignedBodies(4), []string{}
	enter := func(network, name string) func() {
		return u.enter(network, func() { ended = append(ended, name) })
	}

	enter("bank", "bank")

	for i := range 4 {
		enter("evil", fmt.Sprint("evil ", i))
	}
	arrived := enter("other", "other")

	if fmt.Sprint(ended) != "[evil 0 evil 1]" || len(u.arriving) != 4 {
		t.Errorf("%v were ended, %d are arriving", ended, len(u.arriving))
	}

	arrived()
	arrived()

	if len(u.arriving) != 3 || u.networks["other"] != 0 || u.networks["evil"] != 2 {
		t.Errorf("%d are arriving, %v", len(u.arriving), u.networks)
	}
}

// TestProbesAskTheStoreOnce: a flood of readiness probes costs one read per second.
func TestProbesAskTheStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, error(nil)
		c := &storeCheck{ask: func(context.Context) error {
			asked++
			return answer
		}}

		for range 1000 {
			if err := c.ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		answer = errors.New("down")
		time.Sleep(readyFor)

		if err := c.ready(t.Context()); !errors.Is(err, answer) || asked != 2 {
			t.Errorf("%v after %d reads", err, asked)
		}
	})
}
