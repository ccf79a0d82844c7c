package server_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// unpack writes the files of a compressed archive into a new directory and returns it.
func unpack(t *testing.T, name string) string {
	t.Helper()

	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	compressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}

		if err != nil {
			t.Fatal(err)
		}

		if header.Typeflag != tar.TypeReg {
			continue
		}

		text, err := io.ReadAll(archive)
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, header.Name), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// wantVerified checks that every order agrees with its journal.
func (s *shop) wantVerified(t *testing.T) {
	t.Helper()

	s.env.With(t).Wait("every order to agree with its journal", func() (bool, string, error) {
		var found string

		err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
			if len(c.Findings) > 0 {
				found += fmt.Sprintf("order %s: %v\n", c.OrderID, c.Findings)
			}

			return nil
		})

		return found == "", found, err
	})
}

// TestDataOfAnEarlierVersion opens data that commit b4d81ae wrote (testdata/b4d81ae.sh says what),
// whose process was killed while executions waited. The open orders go on to their end while new
// ones run, also if the stream has lost its records since then, and every order agrees with its
// journal before and after.
func TestDataOfAnEarlierVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("runs orders to their end, as other tests do")
	}

	for name, trimmed := range map[string]bool{"at once": false, "after a day": true} {
		t.Run(name, func(t *testing.T) {
			s := openEarlier(t, "testdata/b4d81ae.tar.gz")
			s.wantVerified(t)
			s.wantEarlier(t)

			if trimmed {
				s.trimOrders(t)
			}

			s.env.Go("carrier", s.RunCarrier)
			s.env.Go("worker", func(ctx context.Context) error { return s.Run(ctx, "worker") })

			s.env.SetStock("cup", 20)

			load := make([]transitions.NewOrder, 10)
			for i := range load {
				load[i] = mug
				load[i].ID = transitions.OrderID(fmt.Sprint("new-", i))
				load[i].Items = []transitions.Item{{SKU: "cup", Quantity: 1, Price: 1250}}
				s.env.Execute(load[i])
			}

			s.finishEarlier(t)

			for _, order := range load {
				s.env.WantExecution(order.ID, sfntypes.ExecutionStatusSucceeded)
				s.wantState(t, order.ID, workflow.Delivered)
			}

			s.wantVerified(t)
		})
	}
}

// openEarlier opens data of an archive with the current version, without a worker.
func openEarlier(t *testing.T, archive string) *shop {
	t.Helper()

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Data: unpack(t, archive)}, NoWorker: true})

	return &shop{Backend: env.Backend, env: env}
}

// trimOrders removes the records of the orders' stream, as AWS does after a day.
func (s *shop) trimOrders(t *testing.T) {
	t.Helper()

	table, err := s.DynamoDB.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &s.Tables.Orders})
	if err != nil {
		t.Fatal(err)
	}

	if err := s.Engine.TrimStream(t.Context(), *table.Table.LatestStreamArn, embedded.TrimPoint{}); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) wantState(t *testing.T, id transitions.OrderID, want workflow.State) {
	t.Helper()

	order, found, err := s.Orders.Get(t.Context(), id)
	if err != nil || !found || order.State != want {
		t.Errorf("order %s: %+v, %v, want %s", id, order, err, want)
	}
}

// wantEarlier checks what the earlier version had done.
func (s *shop) wantEarlier(t *testing.T) {
	t.Helper()

	for id, state := range map[transitions.OrderID]workflow.State{
		"delivered": workflow.Delivered,
		"paid":      workflow.PaymentReceived,
		"held":      workflow.OnHold,
		"short":     workflow.Cancelled,
		"placed":    workflow.Pending,
	} {
		s.wantState(t, id, state)
	}

	account, found, err := s.Ledger.Account(t.Context(), "alice")
	if err != nil || !found || account.Balance != 500 {
		t.Errorf("account alice: %+v, %v", account, err)
	}
}

// finishEarlier brings the open orders of the earlier version to their end.
func (s *shop) finishEarlier(t *testing.T) {
	t.Helper()

	move := func(id transitions.OrderID, event workflow.Event) {
		t.Helper()

		r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID("clerk/" + event)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Errorf("%s of order %s: %s, %v", event, id, r.Verdict, err)
		}
	}

	// Its carrier needs years: it does not ship while this test looks.
	s.untilParked(t, "paid", workflow.Shipped)
	move("paid", workflow.Ship)
	s.untilParked(t, "paid", workflow.Delivered)
	move("paid", workflow.Deliver)

	move("held", workflow.Release)

	placed := mug
	placed.ID = "placed"
	s.env.Execute(placed)

	for _, id := range []transitions.OrderID{"paid", "held", "placed"} {
		s.env.WantExecution(id, sfntypes.ExecutionStatusSucceeded)
		s.wantState(t, id, workflow.Delivered)
	}
}
