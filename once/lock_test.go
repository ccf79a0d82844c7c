package once_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func TestALockHasOneHolderEver(t *testing.T) {
	w := newWatchedClaims(t)
	locks := w.locks(t)

	var mu sync.Mutex
	held := map[string]int{}
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			got, err := locks.Acquire(t.Context(), "k", "pod-"+strconv.Itoa(i))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()

			held[got.Holder]++
			if got.Acquired != (got.Holder == "pod-"+strconv.Itoa(i)) || got.First != got.Acquired {
				t.Errorf("pod-%d: %+v", i, got)
			}
		})
	}
	group.Wait()

	if len(held) != 1 {
		t.Errorf("holders %v", held)
	}
	since := w.clock.Now()
	w.clock.Advance(10 * 365 * 24 * time.Hour)

	got, err := locks.Acquire(t.Context(), "k", "late")
	if err != nil || got.Acquired || !got.Since.Equal(since) {
		t.Errorf("years later: %+v, %v", got, err)
	}

	if got, there, err := locks.Get(t.Context(), "k"); err != nil || !there || !got.Since.Equal(since) || held[got.Holder] != 50 {
		t.Errorf("%+v %t %v", got, there, err)
	}

	if _, there, err := locks.Get(t.Context(), "never acquired"); there || err != nil {
		t.Errorf("%t %v", there, err)
	}
}

func TestALockIsAcquiredDespiteALostAnswer(t *testing.T) {
	w := newWatchedClaims(t)
	w.loseAnswers(1)

	got, err := w.locks(t).Acquire(t.Context(), "k", "pod-1/req-1")
	if err != nil || !got.Acquired || !got.First {
		t.Errorf("within the call: %+v, %v", got, err)
	}

	got, err = w.locks(t).Acquire(t.Context(), "k", "pod-1/req-1")
	if err != nil || !got.Acquired || got.First {
		t.Errorf("by the same holder again: %+v, %v", got, err)
	}
	w.transport.Around(withoutItem)

	if got, err := w.locks(t).Acquire(t.Context(), "k", "pod-2/req-1"); err != nil || got.Acquired || got.Holder != "pod-1/req-1" {
		t.Errorf("an endpoint that does not return the item: %+v, %v", got, err)
	}
	w.transport.Inject(embeddedtest.Answer("AccessDeniedException", "GetItem"))

	if got, err := w.locks(t).Acquire(t.Context(), "k", "pod-2/req-1"); err == nil || !strings.HasPrefix(err.Error(), "read lock: ") || got.Acquired {
		t.Errorf("nor lets it be read: %+v, %v", got, err)
	}
}

func TestLocksAndClaimsHaveSeparateKeys(t *testing.T) {
	w := newWatchedClaims(t)
	if got, err := w.locks(t).Acquire(t.Context(), "k", "pod-1"); err != nil || !got.Acquired {
		t.Fatalf("%+v, %v", got, err)
	}
	take(t, w.Claims, "k")

	for name, args := range map[string][2]string{"no key": {"", "h"}, "a long key": {strings.Repeat("k", 2044), "h"}, "no holder": {"k", ""},
		"a long holder": {"k", strings.Repeat("h", 257)}, "not UTF-8": {"\xff", "h"}} {
		if got, err := w.locks(t).Acquire(t.Context(), args[0], args[1]); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}

	_, err := once.NewLocks(once.LocksConfig{})
	if err == nil || !strings.Contains(err.Error(), "LocksConfig.DynamoDB") || !strings.Contains(err.Error(), "LocksConfig.Table") {
		t.Errorf("locks without a table: %v", err)
	}
}
