package lanes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

const arn = "arn:aws:dynamodb:eu-central-1:000000000000:table/orders/stream/1"

// retries returns a retry queue on an engine of its own, and the transport of its client.
func retries(t *testing.T) (*retryqueue.Table, *embeddedtest.Transport) {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	cfg := engine.AWSConfig()
	transport := embeddedtest.Intercept(&cfg)
	client := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, client, deadletters.TableInput("dead-letters"))

	return &retryqueue.Table{API: client, Table: "dead-letters", Scope: "orders"}, transport
}

func TestALoadDropsOnlyItemsThatAreGone(t *testing.T) {
	virtually(t, func(t *testing.T) {
		table, transport := retries(t)
		items := &Waiting{table: table, handlers: []streams.Handler{{Name: "h"}}, items: map[Item]uint64{}, loading: worker.NewCallLock()}
		gone, kept, fresh := Item{0, store.HashOf("gone")}, Item{0, store.HashOf("kept")}, Item{0, store.HashOf("fresh")}
		r := streams.Record{StreamARN: arn, SequenceNumber: "8", Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
		ctx := t.Context()

		if _, err := table.Park(ctx, kept.Hash, r, retryqueue.Row{NextTry: time.Now()}); err != nil {
			t.Fatal(err)
		}
		items.Add(gone)

		transport.After(func(*embeddedtest.Call) error {
			items.Add(fresh) // while the rows are read
			return nil
		})

		if err := items.Load(ctx); err != nil {
			t.Fatal(err)
		}

		if items.Has(gone) || !items.Has(kept) || !items.Has(fresh) {
			t.Errorf("known: gone %v, kept %v, fresh %v", items.Has(gone), items.Has(kept), items.Has(fresh))
		}

		version, _ := items.Version(kept)
		items.Add(kept)
		items.RemoveIf(kept, version)

		if !items.Has(kept) {
			t.Error("an item that was added again was removed")
		}
	})
}

// TestWhichRecordsAreComparedWithAMark: those from before the newest Rebuild's end and shortly after.
func TestWhichRecordsAreComparedWithAMark(t *testing.T) {
	virtually(t, func(t *testing.T) {
		table, _ := retries(t)
		keys := dynamo.Item{"id": dynamo.S("o")}
		ordered := func(streams.Record) int64 { return 0 }
		cfg := testConfig(1)
		cfg.Retries = table
		s := NewScheduler(cfg)
		lanes := s.NewShard(t.Context(), holders.Hold(nil, leases.Lease{}, time.Now(), time.Hour), nil)

		repaired := streams.Record{StreamARN: arn, SequenceNumber: "1", Handler: "h", Keys: keys, Replay: &streams.Replayed{Version: 5}}
		hash := store.HashOf(store.ItemKey(repaired))
		if added, err := table.AddMarked(t.Context(), "h", hash, []streams.Record{repaired}, 0, false); err != nil || added != 1 {
			t.Fatal(added, err)
		}
		markedAt := time.Now()

		for _, test := range []struct {
			name    string
			handler streams.Handler
			version int64
			created time.Time
			marked  bool
			want    bool
		}{
			{"before the repair", streams.Handler{Version: ordered}, 5, markedAt.Add(-time.Hour), true, true},
			{"by a clock that is ahead", streams.Handler{Version: ordered}, 5, markedAt.Add(retryqueue.MarkSlack / 2), true, true},
			{"later", streams.Handler{Version: ordered}, 5, markedAt.Add(2 * retryqueue.MarkSlack), true, false},
			{"newer", streams.Handler{Version: ordered}, 6, markedAt.Add(-time.Hour), true, false},
			{"there was no repair", streams.Handler{Version: ordered}, 5, markedAt.Add(-time.Hour), false, false},
			{"no versions", streams.Handler{}, 5, markedAt.Add(-time.Hour), true, false},
			{"no order", streams.Handler{Version: ordered, Unordered: true}, 5, markedAt.Add(-time.Hour), true, false},
		} {
			s.MarkedAt.Store(0)

			if test.marked {
				s.MarkedAt.Store(UnixMilli(markedAt))
			}
			test.handler.Name = "h"

			if test.handler.Version != nil {
				test.handler.Version = func(streams.Record) int64 { return test.version }
			}

			got, err := s.isRepaired(lanes, &test.handler, streams.Record{Keys: keys, CreatedAt: test.created})
			if err != nil || got != test.want {
				t.Errorf("%s: %t, %v", test.name, got, err)
			}
		}

		lanes.lease.Own.Duration = -time.Second
		s.MarkedAt.Store(UnixMilli(markedAt))

		if _, err := s.isRepaired(lanes, &streams.Handler{Name: "h", Version: ordered}, streams.Record{Keys: keys}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the lease has ended: %v", err)
		}
	})
}
