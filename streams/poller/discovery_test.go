package poller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/store"
)

// newTestDiscovery returns a discovery of the stream that no poller uses.
func (w *testEnv) newTestDiscovery() *lineage.Discovery {
	w.Helper()

	// Answers are confirmed by their number only.
	p, err := New(w.config(newRecorder().handle, func(c *Config) { c.discoverEvery = 2 }))
	if err != nil {
		w.Fatal(err)
	}

	return p.newCoordinator(w.arn, streams.TrimHorizon).discovery
}

// insert stores leases.
func (w *testEnv) insert(leases ...leases.Lease) {
	w.Helper()

	for _, l := range leases {
		if stored, err := w.table().Insert(w.Context(), l); err != nil || !stored {
			w.Fatalf("insert %s: %v, %v", l.Shard, stored, err)
		}
	}
}

// lease returns the Lease of a shard, or the zero Lease.
func (w *testEnv) lease(shard string) leases.Lease {
	w.Helper()

	for _, l := range w.leases() {
		if l.Shard == shard {
			return l
		}
	}

	return leases.Lease{}
}

// known returns all leases in the form that discovery works with.
func (w *testEnv) known() map[string]leases.Lease {
	known := map[string]leases.Lease{}
	for _, l := range w.leases() {
		known[l.Shard] = l
	}

	return known
}

// shardID returns a shard id in the form of DynamoDB.
func shardID(createdAt time.Time) string {
	return fmt.Sprintf("shardId-%020d-1", createdAt.UnixMilli())
}

func TestAShardStopsWaitingForAParentThatIsGone(t *testing.T) {
	for _, c := range []struct {
		name     string
		age      time.Duration // of the parent; 0: its id does not say
		listings int           // how many must lack the parent
	}{
		{
			name:     "the parent is older than the stream keeps records",
			age:      25 * time.Hour,
			listings: absencesOfOldParent,
		},
		{
			name:     "the age of the parent is not known",
			listings: absencesOfOldParent,
		},
		{
			name:     "the parent is young and may be missing by mistake",
			age:      time.Hour,
			listings: absencesOfYoungParent,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				w := newTestEnv(t, 1)
				d := w.newTestDiscovery()

				parent := "parent"
				if c.age > 0 {
					parent = shardID(time.Now().Add(-c.age))
				}
				w.insert(leases.Lease{Shard: "child", Parent: parent})

				listings := 0
				for !w.lease("child").ParentDone {
					if listings++; listings > 100 {
						t.Fatal("the child waits without end")
					}
					time.Sleep(time.Millisecond)

					if err := d.Reconcile(t.Context(), lineage.Listing{}, w.known()); err != nil {
						t.Fatal(err)
					}
				}

				if listings != c.listings {
					t.Errorf("the child begins after %d listings, want %d", listings, c.listings)
				}
			})
		})
	}
}

func TestAShardWaitsForAParentThatIsListedOrHasALease(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		d := w.newTestDiscovery()
		w.insert(
			leases.Lease{Shard: "child 1", Parent: "listed"},
			leases.Lease{Shard: "child 2", Parent: "leased"},
			leases.Lease{Shard: "leased"},
		)

		listed := lineage.Listing{Shards: map[string]streamtypes.Shard{"listed": {ShardId: aws.String("listed")}}}
		for range 2 * absencesOfYoungParent {
			if err := d.Reconcile(t.Context(), listed, w.known()); err != nil {
				t.Fatal(err)
			}
		}

		for _, child := range []string{"child 1", "child 2"} {
			if w.lease(child).ParentDone {
				t.Errorf("%s does not wait for its parent", child)
			}
		}

		if w.lease("listed").Shard == "" {
			t.Error("a listed shard got no lease")
		}
	})
}

// Latest is about the shards of the first listing only: records would be lost between the
// birth of another one and its first iterator.
func TestAShardThatIsFoundLaterIsReadFromItsFirstRecord(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p, err := New(w.config(newRecorder().handle, func(c *Config) { c.Start = streams.Latest }))
		if err != nil {
			t.Fatal(err)
		}
		d := p.newCoordinator(w.arn, streams.Latest).discovery

		if err := d.Bootstrap(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := w.leases()[0]

		l := lineage.Listing{Shards: map[string]streamtypes.Shard{
			"child":   {ShardId: aws.String("child"), ParentShardId: &first.Shard},
			"unknown": {ShardId: aws.String("unknown")},
		}}
		if err := d.Reconcile(t.Context(), l, w.known()); err != nil {
			t.Fatal(err)
		}

		if first.StartAt.IsZero() {
			t.Error("the shard of the first listing is read from its first record")
		}

		for _, shard := range []string{"child", "unknown"} {
			if got := w.lease(shard); got.Shard == "" || !got.StartAt.IsZero() || got.AtHorizon {
				t.Errorf("%s: %+v", shard, got)
			}
		}
	})
}

// An emulator that is restarted on empty storage has a stream with the same name, whose
// sequence numbers mean something else.
func TestARunningPollerNoticesThatItsStreamWasRecreated(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l, g := newRecorder(), &gaps{}
		p := w.start(w.config(l.handle, g.hook))
		w.write("o-0", 1)
		w.until("the checkpoint is stored", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint != "" })

		update := w.table().Update(leases.StreamStateRow).SetValue(leases.StreamStateCreatedAt, dynamo.N(1))
		if _, _, err := store.Apply(t.Context(), w.db, update); err != nil {
			t.Fatal(err)
		}
		w.until("the record is handled again", func() bool { return l.count() == 2 })
		w.stopped(p)

		if all := g.all(); len(all) != 1 || all[0].Reason != streams.GapReplaced {
			t.Errorf("gaps %+v", all)
		}
	})
}

func TestTombstonesAreDeletedWhenNothingRefersToThem(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		d := w.newTestDiscovery()

		old := time.Now().Add(-tombstoneAge - time.Minute)
		w.insert(
			leases.Lease{Shard: "old", FinishedAt: old},
			leases.Lease{Shard: "young", FinishedAt: time.Now()},
			leases.Lease{Shard: "listed", FinishedAt: old},
			leases.Lease{Shard: "awaited", FinishedAt: old},
			leases.Lease{Shard: "child", Parent: "awaited"},
			leases.Lease{Shard: "unfinished"},
		)

		l := lineage.Listing{Shards: map[string]streamtypes.Shard{"listed": {ShardId: aws.String("listed")}}}
		if err := d.Reconcile(t.Context(), l, w.known()); err != nil {
			t.Fatal(err)
		}

		var left []string
		for _, l := range w.leases() {
			left = append(left, l.Shard)
		}

		if got, want := strings.Join(left, " "), "awaited child listed unfinished young"; got != want {
			t.Errorf("leases %s, want %s", got, want)
		}
	})
}

func TestAStreamThatWasRecreatedUnderTheSameARNIsReadFromTheStart(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		p := w.start(w.config(l.handle))
		w.write("o-0", 1)
		w.until("the checkpoint is stored", func() bool { return len(w.leases()) == 1 && w.leases()[0].Checkpoint != "" })
		w.stopped(p)

		// What an emulator leaves in the lease table when its streams begin again: leases
		// and the creation time of an earlier stream.
		w.insert(leases.Lease{Shard: "of the earlier stream", Checkpoint: "1"})

		update := w.table().Update(leases.StreamStateRow).SetValue(leases.StreamStateCreatedAt, dynamo.N(1))
		if _, _, err := store.Apply(t.Context(), w.db, update); err != nil {
			t.Fatal(err)
		}

		p = w.start(w.config(l.handle))
		w.until("the record is handled again", func() bool { return l.count() == 2 })
		w.stopped(p)

		if w.lease("of the earlier stream").Shard != "" {
			t.Error("a lease of the earlier stream is left")
		}
	})
}

func TestARequestThatIsNotMetIsWithdrawn(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		p := w.start(w.config(newRecorder().handle, func(c *Config) { c.LeaseDuration = 200 * time.Millisecond }))
		w.until("the shard is held", func() bool { return len(p.Lags()) == 1 })

		lease := w.leases()[0]
		if stored, err := w.table().RequestHandOver(t.Context(), lease, "a worker that has crashed since"); err != nil || !stored {
			t.Fatalf("request: %v, %v", stored, err)
		}

		// The owner hands the lease over, finds it free when the time of the request is
		// over, and takes it back.
		w.until("the lease is taken back", func() bool {
			now := w.leases()[0]
			return now.Epoch > lease.Epoch && now.Owner == p.Owner() && now.RequestedBy == ""
		})

		foreign := leases.Lease{Shard: "s", Owner: "another", RequestedBy: "a third"}
		w.insert(foreign)

		if stored, err := w.table().RequestHandOver(t.Context(), foreign, "a third"); err != nil || !stored {
			t.Fatalf("request: %v, %v", stored, err)
		}

		if err := w.table().WithdrawRequest(t.Context(), foreign); err != nil || w.lease("s").RequestedBy != "" {
			t.Errorf("withdraw: %v, lease %+v", err, w.lease("s"))
		}
		w.stopped(p)
	})
}

func TestADeletedStateIsRestored(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		d := w.newTestDiscovery()
		if err := d.Bootstrap(t.Context()); err != nil {
			t.Fatal(err)
		}

		_, err := w.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(leasesTable),
			Key:       leases.Key(w.arn, leases.StreamStateRow),
		})
		if err != nil {
			t.Fatal(err)
		}

		// The state has been missing for longer than a lease lasts.
		d.NoteObservation(nil, 1, time.Now().Add(-time.Hour))

		if err := d.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}

		if _, state, err := w.table().Read(t.Context()); err != nil || state == nil || !state.Ready {
			t.Errorf("state %+v, %v", state, err)
		}
	})
}
