package poller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/replay"
	"ratchet/streams/store"
)

// storeLetters stores records of items as dead letters of handler h; each text is an item
// and a version, like o-0/1.
func (w *testEnv) storeLetters(versions ...string) (ids []string) {
	w.Helper()

	table := &deadletters.Table{API: w.db, Table: deadTable}
	for i, text := range versions {
		id, version, _ := strings.Cut(text, "/")
		keys := dynamo.Item{"id": dynamo.S(id), "part": dynamo.S("-")}
		image := dynamo.Item{"id": dynamo.S(id), "part": dynamo.S("-"), "version": &types.AttributeValueMemberN{Value: version}}
		r := streams.Record{StreamARN: w.arn, ShardID: "shard", SequenceNumber: fmt.Sprint(i + 1), EventName: streams.Modify, Keys: keys, New: image, Handler: "h", Attempt: 3}

		if err := table.Store(w.Context(), r, errOutage, nil); err != nil {
			w.Fatal(err)
		}
		ids = append(ids, letterID(r))
	}

	return ids
}

func TestWorkersRedriveDeadLetters(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		ids := w.storeLetters("o-0/1", "o-0/2", "o-1/1", "o-2/1", "o-3/1")
		l := &replayLog{}
		var attempts atomic.Int32

		p := w.start(w.config(func(ctx context.Context, r streams.Record) error {
			switch id, version := keyAndVersion(r); {
			case id == "o-0" && version == 1 && attempts.Add(1) < 3:
				return errOutage
			case id == "o-1":
				return streams.Permanent(errors.New("refused again"))
			case id == "o-2":
				return streams.Skip(errors.New("the item has moved on"))
			}

			return l.handle(ctx, r)
		}, patient, short))

		for _, id := range ids[:4] {
			if err := w.queue().Redrive(t.Context(), "h", id); err != nil {
				t.Fatal(err)
			}
		}

		if err := w.queue().Redrive(t.Context(), "h", ids[0]); !errors.Is(err, deadletters.ErrRedriving) {
			t.Errorf("queued twice: %v", err)
		}
		w.until("two are handled and two stay", func() bool {
			left := w.deadLetters("h")
			return len(left) == 3 && left[0].Redrives == 1 && left[1].Redrives == 1
		})
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2]" || attempts.Load() != 3 {
			t.Errorf("delivered %s after %d attempts", got, attempts.Load())
		}

		left := w.deadLetters("h")
		for i, want := range []string{"refused again", "not redriven: streams: record skipped: the item has moved on", errOutage.Error()} {
			if left[i].Error != want || !left[i].QueuedAt.IsZero() {
				t.Errorf("letter %+v, want error %q", left[i], want)
			}
		}
	})
}

func TestADiscardedLetterIsNotRedriven(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		ids := w.storeLetters("o-0/1", "o-1/1")
		if err := w.queue().Redrive(t.Context(), "h", ids[0]); err != nil {
			t.Fatal(err)
		}

		letters := deadletters.Letters{DynamoDB: w.db, Table: deadTable}
		if l, err := letters.Get(t.Context(), "h", ids[0]); err != nil || l.QueuedAt.IsZero() {
			t.Errorf("letter %+v, %v", l, err)
		}

		if err := letters.Delete(t.Context(), "h", ids[0]); err != nil {
			t.Fatal(err)
		}

		l := newRecorder()
		p := w.start(w.config(l.handle, short))
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if l.count() != 0 || len(w.deadLetters("h")) != 1 {
			t.Errorf("%d calls", l.count())
		}
	})
}

// TestManyLettersAreRedrivenByFilter leaves a dead letter that cannot be read, and a dead letter with
// another error.
func TestManyLettersAreRedrivenByFilter(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		w.storeLetters("o-0/1", "o-0/2", "o-1/1")

		other := &deadletters.Table{API: w.db, Table: deadTable}
		if err := other.Store(t.Context(), streams.Record{StreamARN: w.arn, ShardID: "shard", SequenceNumber: "9", Handler: "h",
			Keys: dynamo.Item{"id": dynamo.S("o-9")}}, errors.New("declined"), nil); err != nil {
			t.Fatal(err)
		}
		w.spoil("h", letterID(streams.Record{StreamARN: w.arn, ShardID: "shard", SequenceNumber: "3", Keys: dynamo.Item{"id": dynamo.S("o-1"), "part": dynamo.S("-")}}))

		var queued, refused int
		for l, err := range w.queue().Letters().All(t.Context(), "h", deadletters.Filter{Error: "503"}) {
			if err == nil {
				err = w.queue().Redrive(t.Context(), "h", l.ID)
			}

			switch {
			case err == nil:
				queued++
			case errors.Is(err, deadletters.ErrUnreadable):
				refused++
			default:
				t.Error(l.ID, err)
			}
		}

		if queued != 2 || refused != 1 {
			t.Errorf("%d queued, %d refused", queued, refused)
		}

		l := &replayLog{}
		p := w.start(w.config(l.handle, short))
		w.until("they are handled", func() bool { return len(w.deadLetters("h")) == 2 })
		w.stopped(p)

		if got := fmt.Sprint(l.of("o-0")); got != "[1 2]" {
			t.Errorf("delivered %s", got)
		}
	})
}

// spoil makes a dead letter unreadable.
func (w *testEnv) spoil(handler, id string) {
	w.Helper()

	row := (&deadletters.Table{Table: deadTable}).Key(handler, id)

	update := dynamo.NewUpdate(deadTable, row).SetValue(deadLetterRecord, dynamo.S("{"))
	if _, _, err := store.Apply(w.Context(), w.db, update); err != nil {
		w.Fatal(err)
	}
}

// TestALostAnswerAddsReplaysOnce loses the answer of every second write of the queue.
func TestALostAnswerAddsReplaysOnce(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		transport, throughTransport := w.intercept()
		transport.Inject(embeddedtest.LoseAnswer("PutItem", "UpdateItem", "DeleteItem").
			If(func(c *embeddedtest.Call) bool { return contains(c, retryRowPrefix) || contains(c, retryPartPrefix) }).EveryNth(2))

		l := &replayLog{}

		cfg := w.config(l.handle, throughTransport, short)
		p := w.start(cfg)
		for v := 1; v <= 3; v++ {
			w.write("o-0", v)
		}
		w.until("they are handled", func() bool { return len(l.all()) == 3 && w.leases()[0].Checkpoint != "" })

		count := w.run(w.replay(func(r *replay.Replay) { r.Queue.DynamoDB = cfg.DynamoDB }))
		w.until("they are delivered", func() bool { return len(l.all()) >= 3+count.Queued["h"] })
		w.until("the queue is empty", func() bool { return len(w.waitingRows()) == 0 })
		w.stopped(p)

		if len(l.all()) != 3+count.Queued["h"] || count.Queued["h"] == 0 {
			t.Errorf("%d queued: delivered %v", count.Queued["h"], l.of("o-0"))
		}

		if n := w.scanDeadLetters(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}
