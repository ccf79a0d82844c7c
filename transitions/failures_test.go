package transitions_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// calls are the calls of the package, each with what comes before it. A call returns the
// verdict, if it has one.
var calls = map[string]struct {
	prepare func(t *testing.T, s *orders)
	call    func(ctx context.Context, t *testing.T, s *orders) (transitions.Verdict, error)
}{
	"create": {func(*testing.T, *orders) {}, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}})
		return r.Verdict, err
	}},
	"create again": {placed, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}})
		return r.Verdict, err
	}},
	"apply": {placed, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Apply(ctx, given("o-1", workflow.Pay, 2))
		return r.Verdict, err
	}},
	"apply under a request id": {placed, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Apply(ctx, keyed("o-1", workflow.Pay, "r"))
		return r.Verdict, err
	}},
	"apply when the ring is full": {moved, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Apply(ctx, keyed("o-1", workflow.RequestReturn, "new"))
		return r.Verdict, err
	}},
	"apply what the ring has forgotten": {moved, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Apply(ctx, given("o-1", workflow.Pay, 2))
		return r.Verdict, err
	}},
	"ship a parcel": {paid, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.ShipParcel(ctx, parcel("p-1", pieces("mug", 1)))
		return r.Verdict, err
	}},
	"add items": {placed, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.AddItems(ctx, edit("o-1", "e"), cup)
		return r.Verdict, err
	}},
	"remove an item": {placed, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.RemoveItem(ctx, edit("o-1", "e"), "mug")
		return r.Verdict, err
	}},
	"get": {placed, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		_, _, err := s.Get(ctx, "o-1")
		return 0, err
	}},
	"history": {moved, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		_, err := s.History(ctx, "o-1", 0, 0)
		return 0, err
	}},
	"rows": {moved, func(ctx context.Context, _ *testing.T, s *orders) (_ transitions.Verdict, err error) {
		for _, rowErr := range s.RowsOf(ctx, "o-1", 0) {
			err = errors.Join(err, rowErr)
		}

		return 0, err
	}},
	"restore": {func(t *testing.T, s *orders) {
		moved(t, s)
		s.putBack(t)
	}, func(ctx context.Context, _ *testing.T, s *orders) (transitions.Verdict, error) {
		r, err := s.Restore(ctx, "o-1", true)
		if r.Written != (err == nil) {
			err = errors.Join(err, errors.New("written, and an error"))
		}

		return 0, err
	}},
	"migrate": {ofVersion1, func(ctx context.Context, t *testing.T, s *orders) (transitions.Verdict, error) {
		_, moved, err := s.Migrate(ctx, ways(t, 1, 2), &transitions.Order{ID: "o-1", State: "PENDING", TransitionID: 1, DefinitionVersion: 1}, transitions.Cause{})
		if moved && err != nil {
			t.Errorf("moved, and %v", err)
		}

		return 0, err
	}},
	"migrate all": {ofVersion1, func(ctx context.Context, t *testing.T, s *orders) (transitions.Verdict, error) {
		_, err := s.MigrateAll(ctx, ways(t, 1, 2), transitions.Sweep{Segments: 1}, transitions.Cause{})
		return 0, err
	}},
}

func placed(t *testing.T, s *orders) { s.place(t, "o-1") }

func paid(t *testing.T, s *orders) {
	placed(t, s)
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
}

// moved moves the order further than its ring holds, each time under a request id.
func moved(t *testing.T, s *orders) {
	paid(t, s)
	s.want(t, keyed("o-1", workflow.Ship, "ship"), transitions.Applied)
	s.want(t, keyed("o-1", workflow.Deliver, "deliver"), transitions.Applied)

	for _, n := range []transitions.RequestID{"a", "b", "c", "d"} {
		s.want(t, keyed("o-1", workflow.RequestReturn, "request"+n), transitions.Applied)
		s.want(t, keyed("o-1", workflow.RejectReturn, "reject"+n), transitions.Applied)
	}
}

// putBack restores the order's item as another program had placed it.
func (s *orders) putBack(t *testing.T) {
	t.Helper()

	_, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: map[string]types.AttributeValue{
		"orderId": &types.AttributeValueMemberS{Value: "o-1"}, "incarnation": s.Item(t, "o-1")["incarnation"], "orderState": &types.AttributeValueMemberS{Value: "PENDING"},
		"transitionId": &types.AttributeValueMemberN{Value: "1"}}})
	if err != nil {
		t.Fatal(err)
	}
}

func ofVersion1(t *testing.T, s *orders) {
	s.runs(t, 1)
	placed(t, s)
	s.runs(t, 2)
}

// What DynamoDB refuses to do is an error of the call, whichever of its requests that is,
// and no verdict. An observer of the costs does not change that.
func TestFailuresOfDynamoDBAreErrors(t *testing.T) {
	for name, c := range calls {
		open := func() *orders {
			s := newOrdersIn(t, transitions.JournalTransactional)
			c.prepare(t, s)

			if !strings.HasPrefix(name, "migrate") { // which has a configuration of its own
				s.reconfigure(func(c *transitions.Config) {
					c.Journal = s.mode
					c.Events.Consumed = func(transitions.OrderID, transitions.Verdict, float64, float64) {}
				})
			}
			s.Wire.Reset()

			return s
		}

		// The first run says how many requests there are.
		s := open()
		if _, err := c.call(t.Context(), t, s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		requests := s.Wire.Calls()

		for i, request := range requests {
			s := open()
			s.Wire.Inject(embeddedtest.Answer("AccessDeniedException").From(i + 1).Next(1))

			if verdict, err := c.call(t.Context(), t, s); err == nil || verdict != 0 || !strings.Contains(err.Error(), "AccessDenied") {
				t.Errorf("%s: %s, request %d of %d, failed: %s, %v", name, request, i+1, len(requests), verdict, err)
			}
		}
	}
}

// silent is an endpoint that does not say what a request consumed, or says nothing in it.
type silent struct {
	*dynamodb.Client
	says *types.ConsumedCapacity
}

func (s silent) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := s.Client.UpdateItem(ctx, in, o...)
	if err == nil {
		out.ConsumedCapacity = s.says
	}

	return out, err
}

func (s silent) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := s.Client.GetItem(ctx, in, o...)
	if err == nil {
		out.ConsumedCapacity = s.says
	}

	return out, err
}

// What an endpoint does not report is counted as nothing, and calls without a verdict, such
// as Get, report nothing.
func TestCostsThatAreNotReportedAreNone(t *testing.T) {
	for _, says := range []*types.ConsumedCapacity{nil, {}} {
		s, consumed := meteredOrders(t, transitions.JournalByStream)
		s.place(t, "o-1")
		consumed(units{transitions.Applied, 0, 1})

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil || order.TransitionID != 1 {
			t.Fatal(order, err)
		}

		if _, err := s.History(t.Context(), "o-1", 0, 0); err != nil {
			t.Error(err)
		}

		var seen []units
		s.reconfigure(func(c *transitions.Config) {
			c.DynamoDB = silent{s.DB, says}
			c.Events.Consumed = func(_ transitions.OrderID, v transitions.Verdict, read, write float64) {
				seen = append(seen, units{v, read, write})
			}
		})
		s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Applied)

		if !slices.Equal(seen, []units{{transitions.Applied, 0, 0}}) {
			t.Errorf("%+v", seen)
		}
	}
}

// Evidence that is read in the journal is a cost of the call.
func TestEvidenceInTheJournalIsACost(t *testing.T) {
	s, consumed := meteredOrders(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	consumed(units{transitions.Applied, 0, 4})
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
	consumed(units{transitions.Applied, 1, 4})
	s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)
	consumed(units{transitions.Applied, 1, 4})

	for id := range transitions.TransitionID(ringSize) {
		event := workflow.Deliver
		if id > 0 {
			event = []workflow.Event{workflow.RejectReturn, workflow.RequestReturn}[id%2]
		}
		s.want(t, given("o-1", event, id+4), transitions.Applied)
		consumed(units{transitions.Applied, 1, 4})
	}
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
	consumed(units{transitions.Replayed, 2, 0}) // the order, and the journal
}

// Orders that another program has placed have no version, and no migration counts them.
func TestOrdersWithoutAVersionAreNotMigrated(t *testing.T) {
	s := newOrders(t)
	ofVersion1(t, s)
	s.putBack(t)

	if found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{}, transitions.Cause{}); found.Moved != 0 || found.Unmapped != 0 || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
}
