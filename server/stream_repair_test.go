package server_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/streams/poller"
	"ratchet/streams/reactions"
	"ratchet/streams/replay"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAGapIsRepairedFromTheOrders: no worker runs while orders move, and the stream's records
// are lost. The repair brings their effects and the journal, which ends with no mismatch: what
// the orders have forgotten is declared lost.
func TestAGapIsRepairedFromTheOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()

		b, err := server.Embed(server.Config{Data: filepath.Join(dir, "data"), Notify: "dir:" + filepath.Join(dir, "notices")}, embeddedtest.Quiet(), server.Events{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()

		ctx, stop := context.WithCancel(t.Context())
		engine := make(chan error, 1)

		if err := b.Init(ctx); err != nil {
			t.Fatal(err)
		}
		go func() { engine <- b.Engine.Run(ctx) }()

		defer func() {
			stop()

			if err := <-engine; err != nil {
				t.Error(err)
			}
		}()

		// o-1 remembers all of its transitions, o-2 only the newest eight of eleven.
		for _, id := range []transitions.OrderID{"o-1", "o-2"} {
			n := mug
			n.ID = id

			if _, err := b.Orders.Create(ctx, n); err != nil {
				t.Fatal(err)
			}
		}

		apply := func(id transitions.OrderID, events ...workflow.Event) {
			t.Helper()

			for _, event := range events {
				order, _, err := b.Orders.Get(ctx, id)
				if err != nil {
					t.Fatal(err)
				}

				r, err := b.Orders.Apply(ctx, transitions.Request{OrderID: id, Event: event, TransitionID: order.TransitionID + 1})
				if err != nil || r.Verdict != transitions.Applied {
					t.Fatalf("%s: %s, %v", event, r.Verdict, err)
				}
			}
		}
		apply("o-1", workflow.Pay)
		apply("o-2", workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold,
			workflow.Release)

		status, err := b.StreamInspector().Status(ctx)
		if err != nil {
			t.Fatal(err)
		}

		if err := b.Engine.TrimStream(ctx, status.Stream, embedded.TrimPoint{}); err != nil {
			t.Fatal(err)
		}

		lost := map[transitions.OrderID]transitions.TransitionID{}
		count, err := replay.Rebuild{
			Queue:    b.RetryQueue(),
			DynamoDB: b.DynamoDB,
			Name:     "test",
			Handlers: b.Handlers(),
			Expand: b.Expander(server.Repair{CloseJournal: true, Lost: func(id transitions.OrderID, first transitions.TransitionID) {
				lost[id] = first
			}}),
		}.Run(ctx)
		if err != nil || count.Items != 2 || count.Lost != 1 || len(lost) != 1 || lost["o-2"] != 4 {
			t.Fatalf("%+v, lost %v, %v", count, lost, err)
		}

		handleStream(t, b)

		mismatches := 0
		if err := inspect.Verify(ctx, b.Orders, func(c inspect.Check) error {
			for _, f := range c.Findings {
				mismatches++
				t.Errorf("order %s: %+v", c.OrderID, f)
			}

			return nil
		}); err != nil || mismatches > 0 {
			t.Errorf("%d mismatches, %v", mismatches, err)
		}

		// What is lost has a final answer.
		_, err = b.Orders.Apply(ctx, transitions.Request{OrderID: "o-2", Event: workflow.Hold, TransitionID: 2})
		if !errors.Is(err, transitions.ErrEvidenceGone) {
			t.Errorf("a lost transition: %v, want ErrEvidenceGone", err)
		}

		booked, err := b.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &b.Tables.SandboxShipments,
			Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "shipment#" + effectKey(t, b.Orders, "o-1", 2, "shipping")}, "sk": &types.AttributeValueMemberS{Value: "-"}},
		})
		if err != nil || len(booked.Item) == 0 {
			t.Errorf("the shipment of o-1: %v, %v", booked, err)
		}
	})
}

// handleStream runs the handlers of the stream until nothing waits.
func handleStream(t *testing.T, b *server.Backend) {
	t.Helper()

	poller, err := poller.New(poller.Config{
		Streams:         b.Streams,
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		LeaseTable:      b.Tables.Leases,
		DeadLetterTable: b.Tables.DeadLetters,
		Handlers:        b.Handlers(),
		LeaseDuration:   10 * time.Second,
		PollIdle:        10 * time.Millisecond,
		Log:             embeddedtest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()

	ended := make(chan error, 1)
	go func() { ended <- poller.Run(ctx) }()

	for waiting := 1; waiting > 0; {
		status, err := b.StreamInspector().Status(ctx)
		if err != nil {
			t.Fatal(err)
		}

		waiting = 0
		for _, h := range status.Handlers {
			waiting += h.Records

			if h.DeadLetters > 0 && h.Name != reactions.NotifyHandler {
				t.Errorf("handler %s: %d dead letters", h.Name, h.DeadLetters)
			}
		}
	}
	stop()

	if err := <-ended; err != nil {
		t.Error(err)
	}
}
