package leases_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// A write that another holder's came before changes nothing, however late it arrives.
func TestNoLateWriteOfALeaseIsTaken(t *testing.T) {
	ctx := t.Context()
	table := &leases.Table{API: embeddedtest.DynamoDB(t, leases.TableInput("leases")), Table: "leases", Stream: "s", Clock: &dynamo.Clock{}}

	for name, late := range map[string]func(ctx context.Context, l leases.Lease) error{
		"Insert": func(ctx context.Context, l leases.Lease) error {
			_, err := table.Insert(ctx, l)
			return err
		},
		"Take": func(ctx context.Context, l leases.Lease) error {
			_, ours, err := table.Take(ctx, l, "late")
			if ours {
				t.Error("Take: another holder has it")
			}

			return err
		},
		"Renewal": func(ctx context.Context, l leases.Lease) error {
			_, _, err := store.Apply(ctx, table.API, table.Renewal(l, leases.Progress{Checkpoint: "9", Finished: time.Now()}))
			return err
		},
		"RequestHandOver": func(ctx context.Context, l leases.Lease) error {
			_, err := table.RequestHandOver(ctx, l, "late")
			return err
		},
		"WithdrawRequest": table.WithdrawRequest,
		"MarkParentDone":  func(ctx context.Context, l leases.Lease) error { return table.MarkParentDone(ctx, l, false) },
		"DeleteLease":     table.DeleteLease,
	} {
		if _, err := table.Insert(ctx, leases.Lease{Shard: name, Parent: "p"}); err != nil {
			t.Fatal(err)
		}

		read, _, err := table.Get(ctx, name)
		if err != nil {
			t.Fatal(err)
		}

		held, ours, err := table.Take(ctx, read, "present")
		if err != nil || !ours {
			t.Fatal(ours, err)
		}

		if _, err := table.RequestHandOver(ctx, held, "next"); err != nil {
			t.Fatal(err)
		}
		before := row(t, table, name)

		if err := late(ctx, read); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if after := row(t, table, name); !maps.EqualFunc(before, after, func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%s: %v became %v", name, before, after)
		}
	}
}

// TestNoLateHeartbeatIsTaken: a worker that stops takes no leases again, and one that has left stays so.
func TestNoLateHeartbeatIsTaken(t *testing.T) {
	ctx := t.Context()
	table := &leases.Table{API: embeddedtest.DynamoDB(t, leases.TableInput("leases")), Table: "leases", Stream: "s", Clock: &dynamo.Clock{}, Duration: time.Minute}
	order := []string{"", leases.Stopping, leases.Left}

	for now, state := range order {
		for late, earlier := range order {
			owner := state + "-" + earlier
			for _, s := range order[:now+1] {
				if _, applied, err := store.Apply(ctx, table.API, table.Beat(owner, s, true)); err != nil || !applied {
					t.Fatal(applied, err)
				}
			}

			_, applied, err := store.Apply(ctx, table.API, table.Beat(owner, earlier, true))
			if err != nil || applied != (late >= now) {
				t.Errorf("%q after %q: applied %t, %v", earlier, state, applied, err)
			}
		}
	}

	workers, err := table.ReadWorkers(ctx)
	if err != nil || len(workers) != 9 {
		t.Fatal(workers, err)
	}

	for _, w := range workers {
		if before, late, _ := strings.Cut(w.Owner, "-"); slices.Index(order, w.State) != max(slices.Index(order, before), slices.Index(order, late)) {
			t.Errorf("%s is %q", w.Owner, w.State)
		}
	}
}

func row(t *testing.T, table *leases.Table, shard string) map[string]any {
	t.Helper()

	out, err := table.API.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table.Table, Key: leases.Key(table.Stream, shard), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]any{}
	for name, value := range out.Item {
		all[name] = value
	}

	return all
}
