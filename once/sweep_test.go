package once_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// unsettled returns the keys of a page of unsettled records.
func (w *watchedClaims) unsettled(t *testing.T, before time.Time) (keys []string) {
	t.Helper()

	page, _, err := w.Unsettled(t.Context(), before, "", 100)
	must(t, err)

	for _, r := range page {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)

	return keys
}

// A lease counts as ended two margins after its end, for the list as for the resolution: what
// is listed can be resolved.
func TestWhatIsListedAsUnsettledCanBeResolved(t *testing.T) {
	w := newWatchedClaims(t)
	released := once.Resolution{Status: once.StatusReleased}
	take(t, w.Claims, "left")
	must(t, take(t, w.Claims, "unknown").Unknown(t.Context()))
	must(t, take(t, w.Claims, "done").Complete(t.Context(), nil))
	must(t, take(t, w.Claims, "given back").Release(t.Context()))

	w.clock.Advance(pastLease - time.Millisecond)

	if keys := w.unsettled(t, w.clock.Now()); !slices.Equal(keys, []string{"unknown"}) {
		t.Errorf("a millisecond before: %v", keys)
	}

	if err := w.Resolve(t.Context(), w.stored(t, "left"), released); !errors.Is(err, once.ErrStaleOwner) {
		t.Errorf("a millisecond before: %v", err)
	}
	w.clock.Advance(time.Millisecond)

	if keys := w.unsettled(t, w.clock.Now()); !slices.Equal(keys, []string{"left", "unknown"}) {
		t.Errorf("two margins after the end: %v", keys)
	}

	for _, key := range []string{"left", "unknown"} {
		if err := w.Resolve(t.Context(), w.stored(t, key), released); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}

	if keys := w.unsettled(t, w.clock.Now()); len(keys) > 0 {
		t.Errorf("after the resolution: %v", keys)
	}
}

// An item that the package did not write ends the list with an error that names the key.
func TestACorruptRecordEndsTheListOfUnsettledOnes(t *testing.T) {
	w := newWatchedClaims(t)
	_, err := w.db.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("once"), Item: item{
		"idempotencyKey": &types.AttributeValueMemberS{Value: "k"}, "status": &types.AttributeValueMemberS{Value: "UNKNOWN"}}})
	must(t, err)

	if page, _, err := w.Unsettled(t.Context(), w.clock.Now(), "", 10); !errors.Is(err, once.ErrCorrupt) || !strings.Contains(err.Error(), "key#"+w.Ref("k")) {
		t.Errorf("%v, %v", page, err)
	}
}

// leave leaves n claims with an unknown outcome.
func (w *watchedClaims) leave(t *testing.T, n int) {
	t.Helper()

	for i := range n {
		must(t, take(t, w.Claims, fmt.Sprint("unknown-", i)).Unknown(t.Context()))
	}
}

// A sweep goes on after a failure, counts all of them, and returns the first ten.
func TestASweepReportsItsFailures(t *testing.T) {
	free := once.Resolution{Status: once.StatusReleased}

	for about, test := range map[string]struct {
		unknown   int
		reconcile func(w *watchedClaims, r once.Record) (once.Resolution, error)
		fault     embeddedtest.Fault
		want      once.Swept
		errors    []string // texts in the error, each as often as it fails
	}{
		"the reconciler fails": {11, func(*watchedClaims, once.Record) (once.Resolution, error) { return free, errFarSide },
			embeddedtest.Fault{}, once.Swept{Found: 11, Failed: 11}, slices.Repeat([]string{"reconcile key#"}, 10)},
		"a resolution is invalid": {2, func(*watchedClaims, once.Record) (once.Resolution, error) {
			return once.Resolution{Status: "LOST"}, nil
		},
			embeddedtest.Fault{}, once.Swept{Found: 2, Failed: 2}, slices.Repeat([]string{"resolution: must be completed"}, 2)},
		"a write fails": {2, func(*watchedClaims, once.Record) (once.Resolution, error) { return free, nil },
			embeddedtest.Answer("AccessDeniedException", "UpdateItem").Next(1), once.Swept{Found: 2, Moved: 1, Failed: 1}, []string{"resolve key#"}},
		"the scan fails": {2, func(*watchedClaims, once.Record) (once.Resolution, error) { return free, nil },
			embeddedtest.Answer("AccessDeniedException", "Scan"), once.Swept{}, []string{"scan for unsettled claims: "}},
		"the second page fails": {101, func(_ *watchedClaims, r once.Record) (once.Resolution, error) {
			if r.Key == "unknown-7" {
				return free, errFarSide
			}

			return free, nil
		}, embeddedtest.Answer("AccessDeniedException", "Scan").From(2), once.Swept{}, []string{"scan for unsettled claims: "}},
		"another caller resolves it first": {1, func(w *watchedClaims, r once.Record) (once.Resolution, error) {
			return free, w.Resolve(context.Background(), r, once.Resolution{Status: once.StatusCompleted})
		}, embeddedtest.Fault{}, once.Swept{Found: 1, Moved: 1}, nil},
	} {
		w := newWatchedClaims(t)
		w.leave(t, test.unknown)
		w.transport.Inject(test.fault)

		sweeping := w.with(t, func(c *once.Config) {
			c.Reconcile = func(_ context.Context, r once.Record) (once.Resolution, error) { return test.reconcile(w, r) }
		})

		got, err := sweeping.Sweep(t.Context(), 0)
		if about == "the second page fails" { // which records are on the first is the table's choice
			test.want = got
			if got.Found != 100 || got.Moved+got.Failed != 100 || got.Failed != strings.Count(err.Error(), "reconcile key#") {
				t.Errorf("%s: %+v, %v", about, got, err)
			}
		}

		if got != test.want || (err == nil) != (len(test.errors) == 0) {
			t.Errorf("%s: %+v, %v; want %+v", about, got, err, test.want)
		}

		if len(test.errors) > 0 && strings.Count(fmt.Sprint(err), test.errors[0]) != len(test.errors) {
			t.Errorf("%s: want %q %d times in\n%v", about, test.errors[0], len(test.errors), err)
		}
	}
}

// A sweep leaves alone what ended less than age ago, and what other operations do.
func TestASweepTakesOnlyWhatIsOldAndItsOwn(t *testing.T) {
	var asked []string
	w := newWatchedClaims(t, func(c *once.Config) {
		c.Operation = "charge"
		c.Reconcile = func(_ context.Context, r once.Record) (once.Resolution, error) {
			asked = append(asked, r.Key)
			return once.Resolution{}, nil
		}
	})
	take(t, w.Claims, "old")
	w.clock.Advance(10 * time.Minute)
	take(t, w.Claims, "young")
	must(t, take(t, w.with(t, func(c *once.Config) { c.Operation = "refund" }), "another's").Unknown(t.Context()))
	w.clock.Advance(pastLease)

	if s, err := w.Sweep(t.Context(), time.Minute); err != nil || s != (once.Swept{Found: 1}) || !slices.Equal(asked, []string{"old"}) {
		t.Errorf("%+v, %v, asked about %v", s, err, asked)
	}
}

// A sweep whose context ends does not read another page, and says so.
func TestASweepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWatchedClaims(t, func(c *once.Config) {
		c.Reconcile = func(context.Context, once.Record) (once.Resolution, error) {
			cancel()
			return once.Resolution{}, nil
		}
	})
	w.leave(t, 101)
	w.calls()

	if _, err := w.Sweep(ctx, 0); !errors.Is(err, context.Canceled) || w.transport.Count("Scan") != 1 {
		t.Errorf("%d pages, %v", w.transport.Count("Scan"), err)
	}
}
