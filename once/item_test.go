package once_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once"
)

func TestAnItemRemembersItsLastKeysOnly(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 1000)

	write := debitItem("a", 1)
	write.Memory = 8
	for i := range 40 {
		w.clock.Advance(time.Duration(1+rand.IntN(5)) * time.Millisecond)

		if _, replayed, err := w.DoInItem(t.Context(), strconv.Itoa(i), payload, write); err != nil || replayed {
			t.Fatalf("%d: %t %v", i, replayed, err)
		}

		for recent := max(0, i-5); recent <= i; recent++ {
			if _, replayed, err := w.DoInItem(t.Context(), strconv.Itoa(recent), payload, write); err != nil || !replayed {
				t.Fatalf("after %d keys, key %d must still be known: %v", i, recent, err)
			}
		}

		if marks := marksOf(t, w.account(t, "a")); marks > 8 {
			t.Fatalf("%d marks", marks)
		}
	}

	if got := numberOf(w.account(t, "a")["balance"]); got != 960 {
		t.Errorf("balance %d", got)
	}

	for name, bad := range map[string]once.ItemWrite{"memory": {Memory: 3}, "much memory": {Memory: 257}, "result": {Result: make([]byte, 257)}} {
		bad.Table, bad.Key = "business", key("a")
		if _, _, err := w.DoInItem(t.Context(), "k", nil, bad); !errors.Is(err, once.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// All clauses of an update, on an item that does not exist yet.
	full := once.ItemWrite{Table: "business", Key: key("new"), Set: "#s = :s", Remove: "gone", Add: "visits :one", Delete: "tags :tags",
		Names: map[string]string{"#s": "status"}, Values: item{":s": num(1), ":one": num(1), ":tags": &types.AttributeValueMemberSS{Value: []string{"x"}}}}
	if _, _, err := w.DoInItem(t.Context(), "full", payload, full); err != nil {
		t.Error(err)
	}

	if got := w.account(t, "new"); numberOf(got["visits"]) != 1 || numberOf(got["status"]) != 1 {
		t.Errorf("%v", got)
	}
}

// marksOf counts the marks of an item that has a key and a balance besides. Each mark has
// its number.
func marksOf(t testing.TB, i item) int64 {
	t.Helper()

	marks := int64(0)
	for name, v := range i {
		if _, is := v.(*types.AttributeValueMemberM); is {
			if marks++; numberOf(i[name+"#n"]) == 0 {
				t.Errorf("mark %s has no number", name)
			}
		}
	}

	if len(i) != 4+2*int(marks) { // key, balance, count, serial
		t.Errorf("%d attributes for %d marks: %v", len(i), marks, i)
	}

	return marks
}

// The promise counts keys, not time: a caller's write is remembered although the caller's clock
// is behind the other clocks.
func TestAMarkIsNotForgottenBecauseOfItsWritersClock(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 1000)
	behind := w.machine(t, -900*time.Millisecond) // within the margin

	debit := func(c *once.Claims, key string) bool {
		t.Helper()

		_, replayed, err := c.DoInItem(t.Context(), key, payload, debitItem("a", 1))
		if err != nil {
			t.Fatal(err)
		}

		return replayed
	}

	const memory = 32 // the default
	for i := range memory - 1 {
		debit(w.Claims, "before"+strconv.Itoa(i))
		w.clock.Advance(10 * time.Millisecond)
	}
	debit(behind, "k")

	for i := range 3*memory/4 - 1 {
		debit(w.Claims, "after"+strconv.Itoa(i))

		if !debit(behind, "k") {
			t.Fatalf("made twice, with %d other keys in between", i+1)
		}
	}
}

// The largest memory deletes 64 marks in one expression, which DynamoDB must accept.
func TestTheLargestMemoryDeletesItsOldestQuarter(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 1000)

	write := debitItem("a", 1)
	write.Memory = 256

	for i := range write.Memory + 1 {
		if _, replayed, err := w.DoInItem(t.Context(), strconv.Itoa(i), payload, write); err != nil || replayed {
			t.Fatalf("%d: %t %v", i, replayed, err)
		}
	}

	if marks := marksOf(t, w.account(t, "a")); marks != 256-64+1 {
		t.Errorf("%d marks", marks)
	}

	for _, i := range []int{64, 256} {
		if _, replayed, err := w.DoInItem(t.Context(), strconv.Itoa(i), payload, write); err != nil || !replayed {
			t.Errorf("key %d: %t %v", i, replayed, err)
		}
	}
}

func TestAnItemWithAFullMemoryStillReportsARefusal(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 10)

	write := debitItem("a", 1)
	write.Memory = 4
	for i := range 20 {
		_, _, err := w.DoInItem(t.Context(), strconv.Itoa(i), payload, write)
		var refused *once.RefusedError
		if i < 10 && err != nil || i >= 10 && (!errors.As(err, &refused) || numberOf(refused.Item["balance"]) != 0) {
			t.Errorf("debit %d of 1 from 10: %v", i+1, err)
		}
	}
}

func TestConcurrentWritersDeleteOldMarksOnce(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 1000)
	write := debitItem("a", 1)

	write.Memory = 4
	var done atomic.Int64
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			_, _, err := w.DoInItem(t.Context(), strconv.Itoa(i), payload, write)
			switch {
			case err == nil:
				done.Add(1)
			case !errors.Is(err, once.ErrInProgress): // the item changes faster than a caller can read it
				t.Error(err)
			}
		})
	}
	group.Wait()

	got := w.account(t, "a")
	marks := marksOf(t, got)
	if numberOf(got["balance"]) != 1000-done.Load() || marks > 4 || numberOf(got["once#count"]) != marks {
		t.Errorf("%d writes: balance %d, %d marks, count %d", done.Load(), numberOf(got["balance"]), marks, numberOf(got["once#count"]))
	}
}
