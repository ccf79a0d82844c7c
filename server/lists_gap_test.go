package server_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/operate/doctor"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/transitions/lists"
)

// TestListsAreRebuiltAfterAGap that a worker has noticed which has ended since: the row of the stream says so.
func TestListsAreRebuiltAfterAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStockedBackend(t, func(c *server.Config) { c.OrderLists = true })
		if _, err := s.Orders.Create(t.Context(), mug); err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second)

		listed := func(want int) {
			t.Helper()

			page, err := inspect.Listed(t.Context(), s.Orders, s.Lists, "", inspect.Page{})
			if err != nil || page.Scanned || len(page.Orders)+page.Stale != want {
				t.Errorf("%+v, %v, want %d orders", page, err, want)
			}
		}
		listed(1)

		// The lists lose what they have got, as if the records had been lost.
		all, err := s.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &s.Tables.OrderLists})
		if err != nil {
			t.Fatal(err)
		}

		for _, item := range all.Items {
			key := dynamo.Item{"listKey": item["listKey"], "placeKey": item["placeKey"]}
			if dynamo.Text(item, "listKey") == "lists" {
				continue
			}

			if _, err := s.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &s.Tables.OrderLists, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		listed(0)
		time.Sleep(61 * time.Second)
		listed(0)

		gap := dynamo.NewUpdate(s.Tables.Leases, lineage.CurrentStreamKey(s.Tables.Orders)).SetValue(leases.LeaseGapAt, dynamo.Millis(time.Now()))
		if _, err := s.DynamoDB.UpdateItem(t.Context(), gap.Input()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second)
		listed(1)
	})
}

// TestDoctorSaysThatTheListsLackChanges, until they are rebuilt.
func TestDoctorSaysThatTheListsLackChanges(t *testing.T) {
	p := newPatient(t, func(c *server.Config) { c.OrderLists = true })

	kept, err := lists.New(lists.Config{DynamoDB: p.DynamoDB, Table: p.Tables.OrderLists, Orders: p.Orders})
	p.must(err)

	result := func() doctor.Result {
		for _, c := range p.Examine(t.Context()) {
			if c.Subject == "lists of orders" {
				return c.Result
			}
		}

		return ""
	}

	if got := result(); got != doctor.Warning {
		t.Errorf("lists that were never built: %s", got)
	}

	for range 2 {
		if _, err := kept.Rebuild(t.Context(), nil); err != nil {
			t.Fatal(err)
		}

		if got := result(); got != doctor.OK {
			t.Errorf("lists that were rebuilt: %s", got)
		}
		p.must(kept.Missed(t.Context(), time.Now()))

		if got := result(); got != doctor.Warning {
			t.Errorf("lists that lack changes: %s", got)
		}
	}
	p.deleteTable(p.Tables.OrderLists)

	if got := result(); got != doctor.Unchecked {
		t.Errorf("without their table: %s", got)
	}
}

// TestListsWaitForTheEndOfAWorkerWithoutThem: it has started before their table was there, and handles changes until
// it ends. Those are in no list, so no rebuild begins before.
func TestListsWaitForTheEndOfAWorkerWithoutThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})

		former, _, err := env.Backend.Process()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- former.Run(ctx, "former") }()

		time.Sleep(time.Minute)
		embeddedtest.Create(t, env.Backend.DynamoDB, lists.TableInput(env.Backend.Tables.OrderLists))
		time.Sleep(61 * time.Second)

		kept, err := lists.New(lists.Config{DynamoDB: env.Backend.DynamoDB, Table: env.Backend.Tables.OrderLists, Orders: env.Backend.Orders})
		if err != nil {
			t.Fatal(err)
		}

		rebuilt := func() bool {
			t.Helper()

			_, err := kept.Rebuild(t.Context(), nil)
			if ready, _ := kept.Ready(t.Context()); ready != (err == nil) {
				t.Errorf("%v, ready %t", err, ready)
			}

			return err == nil
		}

		if rebuilt() {
			t.Error("the lists were built while a worker without them runs")
		}
		stop()

		if err := <-ended; err != nil {
			t.Fatal(err)
		}

		if rebuilt() {
			t.Error("the lists were built before the last change is known to be handled")
		}
		time.Sleep(150 * time.Second)

		if !rebuilt() {
			t.Error("the lists were not built after the worker's end")
		}
	})
}
