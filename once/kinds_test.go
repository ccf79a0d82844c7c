package once_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once"
)

// TestARecordOfAnotherTypeIsAnError: an attribute that is not of its type is neither an absent result nor
// another payload.
func TestARecordOfAnotherTypeIsAnError(t *testing.T) {
	for name, row := range map[string]struct {
		state  string
		change item
	}{
		"a result":          {"completed", item{"result": dynamo.S("x")}},
		"a pointer":         {"completed", item{"resultRef": dynamo.N(1)}},
		"an end":            {"completed", item{"expiresAt": dynamo.S("2026-01-01")}},
		"a fingerprint":     {"completed", item{"payloadHash": dynamo.S("x")}},
		"the time of lease": {"failed", item{"leaseUntil": &types.AttributeValueMemberN{Value: "1.5"}}},
	} {
		for _, mode := range []string{"claim", "repeatable", "transaction", "get"} {
			w := newWatchedClaims(t)
			states[row.state](t, w)
			w.change(t, "k", row.change)

			if err := operations[mode](t.Context(), w, t); !errors.Is(err, once.ErrCorrupt) {
				t.Errorf("%s: %s: %v", name, mode, err)
			}
		}
	}

	w := newWatchedClaims(t)
	states["locked"](t, w)
	w.change(t, "lock#k", item{"since": dynamo.S("x")})

	for _, mode := range []string{"lock", "read lock"} {
		if err := operations[mode](t.Context(), w, t); !errors.Is(err, once.ErrCorrupt) {
			t.Errorf("a lock: %s: %v", mode, err)
		}
	}

	if _, err := w.Count(t.Context(), "k", "e"); err != nil {
		t.Fatal(err)
	}
	w.change(t, "counted#k", item{"expiresAt": dynamo.S("x")})

	if n, err := w.Count(t.Context(), "k", "e"); !errors.Is(err, once.ErrCorrupt) {
		t.Errorf("a count: %d, %v", n, err)
	}
}

// TestWorkThatIsAmbiguousHasNotFailed: an error that leaves the effect open is not a final failure, whatever else
// it is.
func TestWorkThatIsAmbiguousHasNotFailed(t *testing.T) {
	declined := errors.New("declined")

	for name, err := range map[string]error{
		"registered": fmt.Errorf("%w: %w", declined, once.ErrAmbiguous),
		"made":       errors.Join(once.Fail("declined", declined), once.ErrAmbiguous),
	} {
		w := newWatchedClaims(t)
		claims := w.with(t, func(c *once.Config) { c.Failures = map[string]error{"declined": declined} })

		if _, _, got := claims.Do(t.Context(), "k", payload, func(context.Context, *once.Claim) ([]byte, error) { return nil, err }); !errors.Is(got, once.ErrAmbiguous) {
			t.Errorf("%s: %v", name, got)
		}
		refused(t, claims, "k", once.ErrUnknownOutcome)
	}
}

// TestNotBegunIsAboutOneWork: work that begins, and then does other work under a key of its own, has begun
// even if that other work has not.
func TestNotBegunIsAboutOneWork(t *testing.T) {
	w := newWatchedClaims(t)
	_, _, err := w.Do(t.Context(), "outer", payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		_, _, err := w.Do(ctx, "inner", payload, func(context.Context, *once.Claim) ([]byte, error) {
			return nil, once.NotBegun(errFarSide)
		})

		return nil, fmt.Errorf("inner: %w", err)
	})
	if !errors.Is(err, errFarSide) {
		t.Error(err)
	}

	if outer, inner := take(t, w.Claims, "outer").Outcome, take(t, w.Claims, "inner").Outcome; outer != once.TakenOver || inner != once.Acquired {
		t.Errorf("the outer work is %s, the inner %s", outer, inner)
	}
}

// TestAnItemsMarkAnswersBeforeTheArguments: a write that was made is replayed, whatever the repeat asks for
// beside it; a mark that cannot be read is an error.
func TestAnItemsMarkAnswersBeforeTheArguments(t *testing.T) {
	w := newWatchedClaims(t)
	w.deposit(t, "a", 10)
	write := debitItem("a", 1)

	if _, _, err := w.DoInItem(t.Context(), "k", payload, write); err != nil {
		t.Fatal(err)
	}

	for name, change := range map[string]func(*once.ItemWrite){
		"memory": func(w *once.ItemWrite) { w.Memory = 3 },
		"result": func(w *once.ItemWrite) { w.Result = make([]byte, 257) },
	} {
		repeat := write
		change(&repeat)

		if _, replayed, err := w.DoInItem(t.Context(), "k", payload, repeat); err != nil || !replayed {
			t.Errorf("%s: %t, %v", name, replayed, err)
		}
	}

	for name := range w.account(t, "a") {
		v, isMark := w.account(t, "a")[name].(*types.AttributeValueMemberM)
		if !isMark {
			continue
		}

		for what, broken := range map[string]types.AttributeValue{"no map": dynamo.S("x"), "no fingerprint": dynamo.M(item{"c": v.Value["c"]})} {
			_, err := w.db.Client.UpdateItem(t.Context(), dynamo.NewUpdate("business", key("a")).Alias("#mark", name).Set("#mark = :v").Bind(":v", broken).Input())
			must(t, err)

			if _, _, err := w.DoInItem(t.Context(), "k", payload, write); !errors.Is(err, once.ErrCorrupt) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
