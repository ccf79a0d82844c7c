package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The worker lists orders that are older than the lists, and then follows the stream.
//
//raced:here
func TestTheWorkerKeepsTheListsOfOrders(t *testing.T) {
	s := newStockedBackend(t, func(c *server.Config) { c.OrderLists = true })

	for _, id := range []transitions.OrderID{"o-1", "o-2", "acme:o-1", "o-3"} {
		n := mug
		n.ID, n.Customer = id, "c-1"

		if _, err := s.Orders.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	if r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Hold, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	wait := func(owner string, query inspect.Page, want string) {
		t.Helper()
		s.env.Wait(fmt.Sprintf("the list of %q: %+v", owner, query), func() (bool, string, error) {
			page, err := inspect.Listed(t.Context(), s.Orders, s.Lists, owner, query)

			var ids []string
			for _, o := range page.Orders {
				ids = append(ids, string(o.ID))
			}
			got := strings.Join(ids, " ")

			return !page.Scanned && got == want && page.Stale == 0, got, err
		})
	}

	wait("", inspect.Page{}, "o-3 o-2 o-1")
	wait("", inspect.Page{State: workflow.OnHold}, "o-1")
	wait("", inspect.Page{State: workflow.Pending}, "o-3 o-2")
	wait("acme", inspect.Page{State: workflow.Pending}, "acme:o-1")
	wait("", inspect.Page{State: workflow.Pending, Customer: "c-1"}, "o-3 o-2")
	wait("", inspect.Page{Customer: "c-2"}, "")

	if _, err := s.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &s.Tables.Orders, Key: dynamo.Item{"orderId": dynamo.S("o-3")}}); err != nil {
		t.Fatal(err)
	}

	wait("", inspect.Page{}, "o-2 o-1")
	wait("", inspect.Page{State: workflow.Pending}, "o-2")
	wait("", inspect.Page{Customer: "c-1"}, "o-2 o-1")
}

// Without the setting there is no table, and listing scans.
func TestWithoutListsOrdersAreScanned(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	page, err := inspect.Listed(t.Context(), s.Orders, s.Lists, "", inspect.Page{})
	if err != nil || !page.Scanned || len(page.Orders) != 1 || s.Lists != nil {
		t.Errorf("%+v, %v", page, err)
	}
}
