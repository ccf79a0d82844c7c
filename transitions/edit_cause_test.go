package transitions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestAnOrderKeepsTheCauseOfItsNewestEdit(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	note := func(id transitions.RequestID, c transitions.Cause) *transitions.Order {
		t.Helper()

		r, err := s.AddNote(t.Context(), transitions.Edit{OrderID: "o-1", EventID: id, Cause: c}, transitions.Note{Text: "n"})
		if err != nil || !r.Verdict.Done() {
			t.Fatalf("%s, %v", r.Verdict, err)
		}

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		return order
	}

	why := transitions.Cause{Code: "phone-call", Text: "the customer called", Actor: "cli:ada", Source: "cli",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	if got := note("e-1", why).EditCause; got != why {
		t.Errorf("the cause is %+v", got)
	}

	// A repeat has the cause that was stored first.
	if got := note("e-1", transitions.Cause{Code: "other"}).EditCause; got != why {
		t.Errorf("after a repeat the cause is %+v", got)
	}

	// A transition keeps it, and has its own.
	r := given("o-1", workflow.Hold, 2)
	r.Cause = transitions.Cause{Code: "fraud"}
	s.want(t, r, transitions.Applied)

	if got := note("e-2", transitions.Cause{Actor: "execution:o-1"}); got.EditCause != (transitions.Cause{Actor: "execution:o-1"}) || got.Cause != r.Cause {
		t.Errorf("the causes are %+v and %+v", got.EditCause, got.Cause)
	}

	if got := note("e-3", transitions.Cause{}).EditCause; got != (transitions.Cause{}) {
		t.Errorf("an edit without a cause has %+v", got)
	}

	long := transitions.Cause{Text: strings.Repeat("x", 1000)}
	if got := note("e-4", long).EditCause.Text; len(got) != 104 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes are stored: %s", len(got), got)
	}
}

// TestACauseIsNotThatOfAnEditByAnEarlierVersion, which leaves the attribute as it is.
func TestACauseIsNotThatOfAnEditByAnEarlierVersion(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	r, err := s.AddNote(t.Context(), transitions.Edit{OrderID: "o-1", EventID: "e-1", Cause: transitions.Cause{Code: "call"}}, transitions.Note{Text: "n"})
	if err != nil || r.Order.EditCause.Code != "call" {
		t.Fatalf("%+v, %v", r, err)
	}

	item := s.Item(t, "o-1")
	item["contentVersion"] = dynamo.N(2)

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: item}); err != nil {
		t.Fatal(err)
	}

	if order, _, err := s.Get(t.Context(), "o-1"); err != nil || order.EditCause != (transitions.Cause{}) {
		t.Errorf("%+v, %v", order, err)
	}
}

func TestACauseOfAnEditHasRules(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	_, err := s.AddNote(t.Context(), transitions.Edit{OrderID: "o-1", EventID: "e-1", Cause: transitions.Cause{Code: "two words"}}, transitions.Note{Text: "n"})
	if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "cause.code") {
		t.Error(err)
	}
}

func TestAMigrationHasACause(t *testing.T) {
	s := newOrders(t)
	s.runs(t, 1)
	s.place(t, "o-1")
	s.want(t, given("o-1", "hold", 2), transitions.Applied)
	s.runs(t, 2)

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	if _, _, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{Source: "a b"}); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("a bad cause: %v", err)
	}

	why := transitions.Cause{Code: "release-7", Text: "states were renamed", Actor: "cli:ada", Source: "cli"}
	if after, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, why); err != nil || !moved || after.Cause != why {
		t.Errorf("%+v, %v, %v", after, moved, err)
	}
}
