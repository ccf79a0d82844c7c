package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// mortal is the network of a process that dies at its nth request: before the request
// is carried out, or after, before the answer arrives.
type mortal struct {
	client *http.Client
	at     int
	after  bool
	sent   int
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	m.sent++
	if m.sent > m.at || m.sent == m.at && !m.after {
		runtime.Goexit()
	}

	response, err := m.client.Do(r)
	if m.sent == m.at {
		runtime.Goexit()
	}

	return response, err
}

// shop is what the crash matrix runs on: the engine, which survives, and the effects
// that reached the outside, each with the fence under which it happened.
type shop struct {
	engine  *embedded.Engine
	clock   clock
	effects []int64
}

// process returns a client of a process that dies at the nth request; 0 for never.
func (s *shop) process(at int, after bool) *dynamodb.Client {
	cfg := s.engine.AWSConfig()
	if at > 0 {
		cfg.HTTPClient = &mortal{client: s.engine.HTTPClient(), at: at, after: after}
	}

	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}

func (s *shop) claims(t *testing.T, db *dynamodb.Client, unknown bool, told *once.Outcome) *once.Claims {
	t.Helper()

	claims, err := once.New(once.Config{DynamoDB: db, Table: "once", Lease: time.Minute, Now: s.clock.Now, ExpiredIsUnknown: unknown,
		Observe: func(e once.Event) {
			if *told == "" {
				*told = e.Outcome
			}
		}})
	if err != nil {
		t.Fatal(err)
	}

	return claims
}

var errCrash = errors.New("the work failed before it had an effect")

// crashRow is one line of the matrix: where the first process dies, how many effects
// there are in the end, and what the next caller meets.
type crashRow struct {
	mode, killed string
	at           int // the request at which it dies, 0 for not at all
	after        bool
	run          func(t *testing.T, s *shop, db *dynamodb.Client, first bool) once.Outcome
}

// do is work under a record of its own. In the first process it may fail.
func do(unknown bool, first error) func(*testing.T, *shop, *dynamodb.Client, bool) once.Outcome {
	return func(t *testing.T, s *shop, db *dynamodb.Client, isFirst bool) (told once.Outcome) {
		_, _, _ = s.claims(t, db, unknown, &told).Do(t.Context(), "k", payload, func(_ context.Context, c *once.Claim) ([]byte, error) {
			if isFirst && first != nil {
				return nil, first
			}
			s.effects = append(s.effects, c.Fence())

			return []byte("r"), nil
		})

		return told
	}
}

func marked(mode string) func(*testing.T, *shop, *dynamodb.Client, bool) once.Outcome {
	return func(t *testing.T, s *shop, db *dynamodb.Client, _ bool) (told once.Outcome) {
		w := &world{}
		_, _, _ = w.modes()[mode](t, s.claims(t, db, false, &told), "k", payload, "a")
		return told
	}
}

func locked(t *testing.T, s *shop, db *dynamodb.Client, first bool) once.Outcome {
	holder := "second"
	if first {
		holder = "first"
	}

	lock, err := once.Locks{DynamoDB: db, Table: "once"}.Acquire(t.Context(), "k", holder)
	if err != nil || !lock.Acquired {
		return "held, for ever"
	}
	_, _ = db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("once")}) // a moment to die in
	s.effects = append(s.effects, 1)

	return once.Acquired
}

var crashes = []crashRow{
	{"own record", "before the claim", 1, false, do(false, nil)},
	{"own record", "after the claim", 1, true, do(false, nil)},
	{"own record", "after the effect", 2, false, do(false, nil)},
	{"own record", "after the completion was sent", 2, true, do(false, nil)},
	{"own record", "after the completion was acknowledged", 0, false, do(false, nil)},
	{"own record", "before the release", 2, false, do(false, errCrash)},
	{"own record", "after the release was sent", 2, true, do(false, errCrash)},
	{"own record, expired is unknown", "before the claim", 1, false, do(true, nil)},
	{"own record, expired is unknown", "after the claim", 1, true, do(true, nil)},
	{"own record, expired is unknown", "after the effect", 2, false, do(true, nil)},
	{"own record, expired is unknown", "after the completion was sent", 2, true, do(true, nil)},
	{"own record, expired is unknown", "after the release was sent", 2, true, do(true, errCrash)},
	{"mark in the item", "before the write", 1, false, marked("in the item")},
	{"mark in the item", "after the write was sent", 1, true, marked("in the item")},
	{"marker in the transaction", "before the write", 1, false, marked("in the transaction")},
	{"marker in the transaction", "after the write was sent", 1, true, marked("in the transaction")},
	{"once-lock", "before the lock", 1, false, locked},
	{"once-lock", "after the lock was sent", 1, true, locked},
	{"once-lock", "after the lock, before the effect", 2, false, locked},
	{"once-lock", "after the effect", 0, false, locked},
}

// TestPoint52_TheCrashMatrixIsWhatThePageSays kills the first process at every step
// and lets a second one try after the lease. The table in docs/patterns/claims.md is
// this test's output.
func TestPoint52_TheCrashMatrixIsWhatThePageSays(t *testing.T) {
	var table strings.Builder
	table.WriteString("| mode | the first process dies | effects in the end | the next caller, after the lease |\n|---|---|---|---|\n")

	for _, row := range crashes {
		s := &shop{engine: embeddedtest.Open(t)}
		s.clock.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
		w := &world{db: &meter{Client: s.process(0, false)}}
		embeddedtest.Create(t, w.db.Client, once.TableInput("once"), once.TableInput("business"))
		w.deposit(t, "a", 100)

		dead := make(chan struct{})
		go func() {
			defer close(dead)
			row.run(t, s, s.process(row.at, row.after), true)
		}()
		<-dead
		s.clock.advance(time.Hour)
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
	onPage(t, table.String())
}
