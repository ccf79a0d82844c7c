package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/once/ledger"
)

// expiring makes holds h-0, h-1, ... of 10 that have expired.
func (b *bank) expiring(t *testing.T, account string, n int) {
	t.Helper()

	for i := range n {
		h := hold(fmt.Sprint("h-", i), account, 10)
		h.ExpiresAt = b.time().Add(time.Minute)
		b.reserve(t, h)
	}
	b.now.Add(time.Minute.Milliseconds())
}

// A sweep that reads a hold which another call ends before it can has not released it.
func TestASweepCountsOnlyWhatItReleases(t *testing.T) {
	for name, end := range map[string]func(b *bank, other *ledger.Ledger) error{
		"another sweep": func(_ *bank, other *ledger.Ledger) error {
			n, _, err := other.ReleaseExpired(t.Context(), 10)
			if n != 1 {
				err = errors.Join(err, fmt.Errorf("the other sweep has released %d", n))
			}

			return err
		},
		"a release": func(_ *bank, other *ledger.Ledger) error {
			_, err := other.Release(t.Context(), "alice", "h-0")
			return err
		},
		"a transfer of a process whose clock is behind": func(b *bank, _ *ledger.Ledger) error {
			behind := b.another(t, func(c *ledger.Config) { c.Now = func() time.Time { return b.time().Add(-time.Millisecond) } })
			_, err := behind.Post(t.Context(), settle("s", "alice", "h-0", "shop", 10, false))

			return err
		},
	} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.open(t, ledger.NewAccount{ID: "shop"}, 0)
		b.expiring(t, "alice", 1)

		other := b.another(t)
		b.wire.between = func() {
			if err := end(b, other); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}

		if n, more, err := b.ReleaseExpired(t.Context(), 10); n != 0 || more || err != nil {
			t.Errorf("%s: %d released, more %v, %v", name, n, more, err)
		}
		b.sound(t)
	}

	// A write whose answer was lost is a release of its own.
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.expiring(t, "alice", 1)
	b.wire.lose, b.wire.fresh = 1, true

	if n, _, err := b.ReleaseExpired(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d released, %v", n, err)
	}
}

// A sweep says that there may be more exactly if it has reached its limit.
func TestASweepStopsAtItsLimit(t *testing.T) {
	for limit := 1; limit <= 7; limit++ {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
		b.expiring(t, "alice", 6)

		n, more, err := b.ReleaseExpired(t.Context(), limit)
		if n != min(limit, 6) || more != (limit <= 6) || err != nil {
			t.Errorf("limit %d: %d released, more %v, %v", limit, n, more, err)
		}
		b.want(t, "alice", 1000, 1000-10*int64(6-n))
	}
}

// The error of a sweep names ten of the holds that were not released and counts them all.
func TestASweepNamesTenFailures(t *testing.T) {
	for _, failures := range []int{1, 10, 11} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "gone"}, 1000)
		b.expiring(t, "gone", failures)
		b.remove(t, "accounts", item{"accountId": str("gone")})

		n, more, err := b.ReleaseExpired(t.Context(), 100)
		if n != 0 || more || !errors.Is(err, ledger.ErrCorrupt) {
			t.Fatalf("%d released, more %v, %v", n, more, err)
		}

		named := strings.Count(err.Error(), "release hold h-")
		if !strings.HasPrefix(err.Error(), fmt.Sprintf("release expired holds: %d could not be released: ", failures)) || named != min(failures, 10) {
			t.Errorf("%d failures: %d are named: %v", failures, named, err)
		}
	}
}

// inPartition returns the id of a hold whose due row is in that partition of 16.
func inPartition(n uint32) string {
	for i := 0; ; i++ {
		id := fmt.Sprint("h-", i)
		h := fnv.New32a()
		_, _ = h.Write([]byte(id))

		if h.Sum32()%16 == n {
			return id
		}
	}
}

// A sweep that reaches its limit reports the holds that it failed to release before.
func TestASweepReportsFailuresAtItsLimit(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "gone"}, 1000)

	for n, account := range map[uint32]string{0: "gone", 15: "alice"} {
		h := hold(inPartition(n), account, 10)
		h.ExpiresAt = b.time().Add(time.Minute)
		b.reserve(t, h)
	}
	b.now.Add(time.Minute.Milliseconds())
	b.remove(t, "accounts", item{"accountId": str("gone")})

	if n, more, err := b.ReleaseExpired(t.Context(), 1); n != 1 || !more || !errors.Is(err, ledger.ErrCorrupt) {
		t.Errorf("%d released, more %v, %v", n, more, err)
	}
}

// A sweep whose caller has left says so, also if only one hold was due, in the last partition.
func TestASweepEndsWithItsCaller(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)

	h := hold(inPartition(15), "alice", 10)
	h.ExpiresAt = b.time().Add(time.Minute)
	b.reserve(t, h)
	b.now.Add(time.Minute.Milliseconds())

	ctx, cancel := context.WithCancel(t.Context())
	s := &sender{Client: b.db, after: cancel}

	l := b.another(t, func(c *ledger.Config) { c.DynamoDB = s })

	if n, more, err := l.ReleaseExpired(ctx, 10); n > 1 || more || !errors.Is(err, context.Canceled) || s.sent != 1 {
		t.Errorf("%d released, more %v, %v after %d transactions", n, more, err, s.sent)
	}
}

// A due row that does not have the time of its hold ends no hold early.
func TestAWrongDueRowReleasesNothing(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)

	later := hold("h", "alice", 10)
	later.ExpiresAt = b.time().Add(time.Hour)
	b.reserve(t, later)
	b.put(t, "holds", item{"accountId": str("due#0"), "holdId": str("000000000000001#alice#h")})

	l := b.another(t, func(c *ledger.Config) { *c = c.WithAttempts(1) })

	if n, _, err := l.ReleaseExpired(t.Context(), 10); n != 0 || err == nil {
		t.Errorf("%d released, %v", n, err)
	}
	b.want(t, "alice", 1000, 990)
}

// The due row of a hold is there as long as the hold is active, so the table of holds does not
// grow with what has ended.
func TestADueRowEndsWithItsHold(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)

	post := func(tr ledger.Transfer) error { _, err := b.Post(t.Context(), tr); return err }

	for i, c := range []struct {
		name string
		end  func(id string) error
		rows int32
	}{
		{"nothing", func(string) error { return nil }, 1},
		{"a part is settled", func(id string) error { return post(settle(id, "alice", id, "shop", 1, false)) }, 1},
		{"all is settled", func(id string) error { return post(settle(id, "alice", id, "shop", 10, false)) }, 0},
		{"a part is settled and the rest returned", func(id string) error { return post(settle(id, "alice", id, "shop", 1, true)) }, 0},
		{"it is released", func(id string) error { _, err := b.Release(t.Context(), "alice", id); return err }, 0},
	} {
		id := fmt.Sprint("h-", i)
		n := hold(id, "alice", 10)
		n.ExpiresAt = b.time().Add(time.Hour)
		b.reserve(t, n)

		if err := c.end(id); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}

		out, err := b.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("holds"), FilterExpression: aws.String("begins_with(accountId, :due) AND contains(holdId, :id)"),
			ExpressionAttributeValues: item{":due": str("due#"), ":id": str("#" + id)}})
		if err != nil || out.Count != c.rows {
			t.Errorf("%s: %d due rows, %v", c.name, out.Count, err)
		}
	}
}
