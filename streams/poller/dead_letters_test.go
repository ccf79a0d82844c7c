package poller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/store"
)

// redrives checks two redrives: the first fails, and the second succeeds.
func (w *testEnv) redrives(dead deadletters.Letters, letter deadletters.Letter, cause error) error {
	ctx := context.Background()
	h := streams.Handler{Name: "h", Handle: func(context.Context, streams.Record) error { return cause }}
	if err := dead.Redrive(ctx, letter.ID, h); !errors.Is(err, cause) {
		return fmt.Errorf("failing redrive: %w", err)
	}

	again, err := dead.Get(ctx, "h", letter.ID)
	if err != nil || again.Redrives != 1 {
		return fmt.Errorf("after a failed redrive: %+v, %w", again, err)
	}

	var got streams.Record

	h.Handle = func(_ context.Context, r streams.Record) error { got = r; return nil }
	if err := dead.Redrive(ctx, letter.ID, h); err != nil {
		return err
	}

	if got.SequenceNumber != letter.Record.SequenceNumber || got.Attempt != 5 {
		return fmt.Errorf("the handler got %+v", got)
	}

	if err := dead.Redrive(ctx, letter.ID, h); !errors.Is(err, deadletters.ErrNotFound) {
		return fmt.Errorf("redrive of a dead letter that is deleted: %w", err)
	}

	return nil
}

func TestTheCheckpointWaitsUntilTheDeadLetterIsStored(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, throughTransport := w.intercept()
		transport.Before(func(c *embeddedtest.Call) error {
			if c.Is("TransactWriteItems") && contains(c, deadTable) {
				return awsError("InternalServerError")
			}
			return nil
		})
		var failures atomic.Int32
		p := w.start(w.config(func(context.Context, streams.Record) error { return streams.Permanent(errors.New("no")) }, throughTransport, func(c *Config) {
			c.Events.Fault = func(op, _ string, _ error) {
				if op == "TransactWriteItems" {
					failures.Add(1)
				}
			}
		}))
		w.write("o-0", 1)
		w.until("storing the dead letter has failed twice", func() bool { return failures.Load() > 1 })

		if c := w.leases()[0].Checkpoint; c != "" {
			t.Errorf("checkpoint %s passed a record that is stored nowhere", c)
		}
		transport.Before(nil)
		w.until("the checkpoint moves", func() bool { return w.leases()[0].Checkpoint != "" })
		w.stopped(p)

		letters, _, err := deadletters.Letters{DynamoDB: w.db, Table: deadTable}.List(context.Background(), "h", "", 0)
		if err != nil || len(letters) != 1 {
			t.Errorf("letters %v, %v", letters, err)
		}
	})
}

func TestAVeryLargeDeadLetterIsStoredInParts(t *testing.T) {
	if testing.Short() {
		t.Skip("one record, and many bytes")
	}

	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		noise := func() dynamo.Item {
			b := make([]byte, 390<<10)
			_, _ = rand.Read(b)
			return dynamo.Item{"id": dynamo.S("o-1"), "noise": &ddbtypes.AttributeValueMemberB{Value: b}}
		}

		r := streams.Record{
			StreamARN: w.arn, ShardID: "s", SequenceNumber: "7", EventName: streams.Modify, Handler: "h", Attempt: 3,
			Keys: dynamo.Item{"id": dynamo.S("o-1")}, Old: noise(), New: noise(), CreatedAt: time.Now(),
		}
		table := &deadletters.Table{API: w.db, Table: deadTable}
		ctx := context.Background()
		for range 2 { // the second time has no effect
			if err := table.Store(ctx, r, errors.New("no"), nil); err != nil {
				t.Fatal(err)
			}
		}
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}

		letters, _, err := dead.List(ctx, "h", "", 0)
		if err != nil || len(letters) != 1 || letters[0].Record != nil {
			t.Fatalf("%d letters, %v", len(letters), err)
		}

		got, err := dead.Get(ctx, "h", letters[0].ID)
		if err != nil {
			t.Fatal(err)
		}

		for name, pair := range map[string][2]dynamo.Item{"old": {r.Old, got.Record.Old}, "new": {r.New, got.Record.New}} {
			a, b := pair[0]["noise"].(*ddbtypes.AttributeValueMemberB), pair[1]["noise"].(*ddbtypes.AttributeValueMemberB)
			if string(a.Value) != string(b.Value) {
				t.Errorf("the %s image changed", name)
			}
		}

		if err := dead.Delete(ctx, "h", got.ID); err != nil {
			t.Fatal(err)
		}

		out, err := w.db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(deadTable)})
		if err != nil || out.Count != 0 {
			t.Errorf("%d rows left after Delete, %v", out.Count, err)
		}
	})
}

func TestDeadLettersAreListedPageByPage(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := &deadletters.Table{API: w.db, Table: deadTable}
		ctx := context.Background()
		for n := range 7 {
			r := streams.Record{StreamARN: w.arn, ShardID: "s", SequenceNumber: strconv.Itoa(8 + n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
			if err := table.Store(ctx, r, errors.New("no"), nil); err != nil {
				t.Fatal(err)
			}
		}

		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		var seen []string
		for after, first := "", true; first || after != ""; first = false {
			letters, next, err := dead.List(ctx, "h", after, 3)
			if err != nil {
				t.Fatal(err)
			}

			for _, l := range letters {
				seen = append(seen, l.Record.SequenceNumber)
			}
			after = next
		}

		if len(seen) != 7 || seen[0] != "8" || seen[6] != "14" {
			t.Errorf("listed %v", seen)
		}
	})
}

// storeDeadLetter stores one dead letter of handler h and returns its id.
func (w *testEnv) storeDeadLetter() string {
	w.Helper()

	table := &deadletters.Table{API: w.db, Table: deadTable}
	r := streams.Record{StreamARN: w.arn, ShardID: "s", SequenceNumber: "8", Handler: "h", Attempt: 3, Keys: dynamo.Item{"id": dynamo.S("o")}}
	if err := table.Store(w.Context(), r, errors.New("no"), nil); err != nil {
		w.Fatal(err)
	}

	return w.deadLetters("h")[0].ID
}

func TestOneOfTwoRedrivesAtOnceIsRefused(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		id := w.storeDeadLetter()
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}

		entered, release := make(chan struct{}), make(chan struct{})
		first := make(chan error, 1)
		go func() {
			first <- dead.Redrive(t.Context(), id, streams.Handler{Name: "h", Handle: func(context.Context, streams.Record) error {
				close(entered)
				<-release
				return nil
			}})
		}()
		<-entered

		calls := 0
		second := streams.Handler{Name: "h", Handle: func(context.Context, streams.Record) error { calls++; return nil }}
		if err := dead.Redrive(t.Context(), id, second); !errors.Is(err, deadletters.ErrRedriving) || calls != 0 {
			t.Errorf("the second redrive: %v after %d calls, want ErrRedriving", err, calls)
		}

		close(release)

		if err := <-first; err != nil {
			t.Errorf("the first redrive: %v", err)
		}

		if letters := w.deadLetters("h"); len(letters) != 0 {
			t.Errorf("left: %+v", letters)
		}
	})
}

func TestADeadLetterThatIsDeletedWhileItIsRedrivenIsNotFound(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		id := w.storeDeadLetter()
		dead := deadletters.Letters{DynamoDB: w.db, Table: deadTable}

		var c Config
		transport, throughTransport := w.intercept()
		throughTransport(&c)
		transport.Before(func(call *embeddedtest.Call) error {
			if !call.Is("UpdateItem") { // the claim
				return nil
			}

			return dead.Delete(t.Context(), "h", id)
		})

		err := deadletters.Letters{DynamoDB: c.DynamoDB, Table: deadTable}.Redrive(t.Context(), id, streams.Handler{Name: "h", Handle: func(context.Context, streams.Record) error {
			t.Error("the handler was called")
			return nil
		}})
		if !errors.Is(err, deadletters.ErrNotFound) {
			t.Errorf("redrive: %v, want ErrDeadLetterNotFound", err)
		}

		if err := dead.Delete(t.Context(), "h", id); err != nil {
			t.Errorf("deleting it again: %v", err)
		}
	})
}

func TestStoredErrorTextsAreShortAndValid(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{name: "no error", err: nil, want: ""},
		{name: "plain text", err: errors.New("no"), want: "no"},
		{name: "bytes that are not UTF-8", err: errors.New("a\xffb"), want: "a\uFFFDb"},
		{name: "a long text", err: errors.New(strings.Repeat("x", 10_000)), want: strings.Repeat("x", maxErrorText)},
		{
			name: "a character at the cut",
			err:  errors.New(strings.Repeat("x", maxErrorText-1) + "ü"),
			want: strings.Repeat("x", maxErrorText-1),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := store.ErrorText(c.err); got != c.want {
				t.Errorf("%d bytes, want %d: %.40q", len(got), len(c.want), got)
			}
		})
	}
}

func TestPartsOfADeadLetterAreNotOverwritten(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := &deadletters.Table{API: w.db, Table: deadTable}
		noise := make([]byte, 390<<10)
		_, _ = rand.Read(noise)
		r := streams.Record{
			StreamARN: w.arn, ShardID: "s", SequenceNumber: "7", Handler: "h", Attempt: 3,
			Keys: dynamo.Item{"id": dynamo.S("o-1")}, New: dynamo.Item{"noise": dynamo.B(noise)},
		}

		if err := table.Store(t.Context(), r, errors.New("no"), nil); err != nil {
			t.Fatal(err)
		}
		rows := w.scanDeadLetters()

		// A worker that handles the record again stores it again.
		r.Attempt, r.New = 9, dynamo.Item{"noise": dynamo.B(noise[1:])}
		if err := table.Store(t.Context(), r, errors.New("no"), nil); err != nil {
			t.Fatal(err)
		}

		letter, err := deadletters.Letters{DynamoDB: w.db, Table: deadTable}.Get(t.Context(), "h", w.deadLetters("h")[0].ID)
		if err != nil || letter.Record.Attempt != 3 || len(dynamo.Bytes(letter.Record.New, "noise")) != len(noise) {
			t.Errorf("the dead letter changed: %+v, %v", letter.ID, err)
		}

		if found := w.orphans(); w.scanDeadLetters() != rows || rows < 3 || len(found) > 0 {
			t.Errorf("%d rows after another store, want %d; %v", w.scanDeadLetters(), rows, found)
		}
	})
}
