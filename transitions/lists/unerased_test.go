package lists_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

// unerased returns the ids of the owner's expired orders that are not erased, sorted.
func (s *orderLists) unerased(owner string, before time.Time) string {
	s.t.Helper()

	var ids []string
	for id, err := range s.lists.Unerased(s.t.Context(), owner, workflow.Expired, before) {
		if err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, string(id))
	}
	slices.Sort(ids)

	return strings.Join(ids, " ")
}

func (s *orderLists) erase(o *transitions.Order) {
	s.t.Helper()

	part, err := s.orders.EraseIn(o)
	if err != nil {
		s.t.Fatal(err)
	}

	if err := s.lists.Erase(s.t.Context(), o, part); err != nil {
		s.t.Fatal(err)
	}
}

func TestOnlyOrdersThatEndedBeforeAreToErase(t *testing.T) {
	s := newOrderLists(t)

	s.record(s.place("open")...)
	a := s.place("a", workflow.Expire)
	s.record(a...)
	s.record(s.place("acme:b", workflow.Expire)...)

	moment := last(a).EnteredAt().Add(time.Millisecond)
	if got := s.unerased("", moment); got != "a" {
		t.Errorf("%q, want a", got)
	}

	if got := s.unerased("", last(a).EnteredAt()); got != "" {
		t.Errorf("%q ended before the moment in which it ended", got)
	}

	if got := s.unerased("acme", time.Now().Add(time.Hour)); got != "acme:b" {
		t.Errorf("of another owner: %q", got)
	}
}

// onePerPage answers every query with pages of one item.
type onePerPage struct{ *dynamodb.Client }

func (c onePerPage) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	one := *in
	one.Limit = aws.Int32(1)

	return c.Client.Query(ctx, &one, options...)
}

// TestOrdersToEraseAreOnManyPages: a page may be empty, because all its orders are erased.
func TestOrdersToEraseAreOnManyPages(t *testing.T) {
	s := newOrderLists(t)
	s.lists = s.Lists(s.orders, func(c *lists.Config) { c.DynamoDB = onePerPage{s.DB} })

	var want []string
	for n := range 40 { // some in each shard
		id := fmt.Sprintf("o-%02d", n)
		placed := s.place(id, workflow.Expire)
		s.record(placed...)

		if n < 20 {
			s.erase(last(placed))
		} else {
			want = append(want, id)
		}
	}

	if got := s.unerased("", time.Now().Add(time.Hour)); got != strings.Join(want, " ") {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAnErasedOrderIsNotToErase: late and repeated records and a rebuild do not change that, also if the
// lists did not exist when the order was erased.
func TestAnErasedOrderIsNotToErase(t *testing.T) {
	s, later := newOrderLists(t), time.Now().Add(time.Hour)

	erased, kept, late := s.place("a", workflow.Expire), s.place("b", workflow.Expire), s.place("c", workflow.Expire)
	s.record(append(erased, kept...)...)
	s.record(late[0])

	s.erase(last(erased))
	s.erase(last(late))
	s.record(append(erased, late...)...)

	if _, err := s.lists.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	if got := s.unerased("", later); got != "b" {
		t.Errorf("%q, want b", got)
	}
	s.want("", workflow.Expired, "c b a")

	embeddedtest.Create(t, s.DB, lists.TableInput("new"))
	s.lists = s.Lists(s.orders, func(c *lists.Config) { c.Table = "new" })

	if _, err := s.lists.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	if got := s.unerased("", later); got != "b" {
		t.Errorf("of lists that were made after the erasure: %q, want b", got)
	}
}
