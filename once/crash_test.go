package once_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// survivor is the engine of the crash matrix, which survives, and the effects that reached the
// far side, each with its fence.
type survivor struct {
	engine  *embedded.Engine
	clock   embeddedtest.Clock
	effects []int64
}

// process returns a client of a process that dies at the nth request, before or after the
// service carries it out. An n of 0 means never.
func (s *survivor) process(n int, after bool) *dynamodb.Client {
	cfg := s.engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries

	if n > 0 {
		sent := 0
		transport := embeddedtest.Intercept(&cfg)
		transport.Before(func(*embeddedtest.Call) error {
			if sent++; sent > n || sent == n && !after {
				runtime.Goexit()
			}

			return nil
		})
		transport.After(func(*embeddedtest.Call) error {
			if sent == n {
				runtime.Goexit()
			}

			return nil
		})
	}

	return dynamodb.NewFromConfig(cfg)
}

func (s *survivor) claims(t *testing.T, db *dynamodb.Client, unknown bool, observed *once.Outcome) *once.Claims {
	t.Helper()

	claims, err := once.New(once.Config{
		DynamoDB:         db,
		Table:            "once",
		Lease:            time.Minute,
		ExpiredIsUnknown: unknown,
		Now:              s.clock.Now,
		Events: once.Events{Observed: func(e once.Event) {
			if *observed == "" {
				*observed = e.Outcome
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}

	return claims
}

var errCrash = errors.New("the work failed")

// crashRow is one row of the matrix: where the first process dies. The test adds how many
// effects there are in the end, and the outcome that the next caller observes.
type crashRow struct {
	mode, killed string
	at           int // the number of its last request, 0 for no death
	after        bool
	run          func(t *testing.T, s *survivor, db *dynamodb.Client, first bool) once.Outcome
}

// do is work under a record of its own. In the first process it may fail.
func do(unknown bool, first error) func(*testing.T, *survivor, *dynamodb.Client, bool) once.Outcome {
	return func(t *testing.T, s *survivor, db *dynamodb.Client, isFirst bool) (observed once.Outcome) {
		_, _, _ = s.claims(t, db, unknown, &observed).Do(t.Context(), "k", payload, func(_ context.Context, c *once.Claim) ([]byte, error) {
			if isFirst && first != nil {
				return nil, first
			}
			s.effects = append(s.effects, c.Fence())

			return []byte("r"), nil
		})

		return observed
	}
}

func marked(mode string) func(*testing.T, *survivor, *dynamodb.Client, bool) once.Outcome {
	return func(t *testing.T, s *survivor, db *dynamodb.Client, _ bool) (observed once.Outcome) {
		w := &watchedClaims{}
		_, _, _ = w.modes()[mode](t, s.claims(t, db, false, &observed), "k", payload, "a")
		return observed
	}
}

func locked(t *testing.T, s *survivor, db *dynamodb.Client, first bool) once.Outcome {
	holder := "second"
	if first {
		holder = "first"
	}

	lock, err := newLocks(t, once.LocksConfig{DynamoDB: db, Table: "once"}).Acquire(t.Context(), "k", holder)
	if err != nil || !lock.Acquired {
		return "held forever"
	}
	_, _ = db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("once")}) // the process may die here
	s.effects = append(s.effects, 1)

	return once.Acquired
}

var crashes = []crashRow{
	{mode: "own record", killed: "before the claim", at: 1, after: false, run: do(false, nil)},
	{mode: "own record", killed: "after the claim", at: 1, after: true, run: do(false, nil)},
	{mode: "own record", killed: "after the effect", at: 2, after: false, run: do(false, nil)},
	{mode: "own record", killed: "after the completion was sent", at: 2, after: true, run: do(false, nil)},
	{mode: "own record", killed: "after the completion was acknowledged", at: 0, after: false, run: do(false, nil)},
	{mode: "own record", killed: "before the release", at: 2, after: false, run: do(false, errCrash)},
	{mode: "own record", killed: "after the release was sent", at: 2, after: true, run: do(false, errCrash)},
	{mode: "own record", killed: "after the release of work without an effect was sent", at: 2, after: true, run: do(false, once.NotBegun(errCrash))},
	{mode: "own record, expired is unknown", killed: "before the claim", at: 1, after: false, run: do(true, nil)},
	{mode: "own record, expired is unknown", killed: "after the claim", at: 1, after: true, run: do(true, nil)},
	{mode: "own record, expired is unknown", killed: "after the effect", at: 2, after: false, run: do(true, nil)},
	{mode: "own record, expired is unknown", killed: "after the completion was sent", at: 2, after: true, run: do(true, nil)},
	{mode: "own record, expired is unknown", killed: "after the release was sent", at: 2, after: true, run: do(true, errCrash)},
	{mode: "mark in the item", killed: "before the write", at: 1, after: false, run: marked("in the item")},
	{mode: "mark in the item", killed: "after the write was sent", at: 1, after: true, run: marked("in the item")},
	{mode: "marker in the transaction", killed: "before the write", at: 2, after: false, run: marked("in the transaction")},
	{mode: "marker in the transaction", killed: "after the write was sent", at: 2, after: true, run: marked("in the transaction")},
	{mode: "once-lock", killed: "before the lock", at: 1, after: false, run: locked},
	{mode: "once-lock", killed: "after the lock was sent", at: 1, after: true, run: locked},
	{mode: "once-lock", killed: "after the lock, before the effect", at: 2, after: false, run: locked},
	{mode: "once-lock", killed: "after the effect", at: 0, after: false, run: locked},
}

// TestPoint52_TheCrashMatrixIsAsDocumented kills the first process at every step
// and lets a second one try after the lease. The table in docs/reference/crashes.md is
// this test's output.
func TestPoint52_TheCrashMatrixIsAsDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| mode | the first process dies | effects in the end | the next caller, after the lease |\n|---|---|---|---|\n")

	for _, row := range crashes {
		s := &survivor{engine: embeddedtest.Open(t)}
		s.clock.Set(embeddedtest.Start)
		w := &watchedClaims{db: &meter{Client: s.process(0, false)}}
		embeddedtest.Create(t, w.db.Client, once.TableInput("once"), once.TableInput("business"))
		w.deposit(t, "a", 100)

		dead := make(chan struct{})
		go func() {
			defer close(dead)
			row.run(t, s, s.process(row.at, row.after), true)
		}()
		<-dead
		s.clock.Advance(time.Hour)
		then := row.run(t, s, s.process(0, false), false)

		effects := len(s.effects)
		if strings.HasPrefix(row.mode, "mark") {
			effects = int(100-numberOf(w.account(t, "a")["balance"])) / 4
		}

		for i := 1; i < effects && len(s.effects) > 1; i++ {
			if s.effects[i] <= s.effects[i-1] {
				t.Errorf("%s, %s: fences %v", row.mode, row.killed, s.effects)
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %d | %s |\n", row.mode, row.killed, effects, then)
	}
	onPage(t, "crashes.md", table.String())
}
