package transitions_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// guardedDefinition returns a definition with guards: an order is paid when its total is
// covered, shipped in parts while lines are open, and closed when its return window is over.
func guardedDefinition(t testing.TB) *workflow.Definition {
	t.Helper()

	d, err := workflow.New(workflow.Spec{
		Name: "guarded", Version: 7, Place: "place", Initial: workflow.Pending,
		States: []workflow.StateSpec{{State: workflow.Pending}, {State: workflow.PaymentReceived}, {State: workflow.PartiallyShipped},
			{State: workflow.Shipped}, {State: workflow.Completed, Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "pay", From: []workflow.State{workflow.Pending}, To: workflow.PaymentReceived, Guards: []workflow.Guard{
				{Name: "total-covered", Attribute: "payment.captured", Op: ">=", Other: "total.amount"},
				{Name: "not-blocked", Attribute: "blocked", Op: "missing"}}},
			{Event: "ship", From: []workflow.State{workflow.PaymentReceived, workflow.PartiallyShipped}, To: workflow.Shipped, Guards: []workflow.Guard{
				{Name: "nothing-open", Attribute: "openLines", Op: "=", Value: 0}}},
			{Event: "ship", From: []workflow.State{workflow.PaymentReceived, workflow.PartiallyShipped}, To: workflow.PartiallyShipped, Guards: []workflow.Guard{
				{Name: "something-open", Attribute: "openLines", Op: ">", Value: 0}}},
			{Event: "close", From: []workflow.State{workflow.Shipped}, To: workflow.Completed, Guards: []workflow.Guard{
				{Name: "window-over", Attribute: "shippedAt", Op: "<", Request: "windowBegins"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// guardedOrders places an order under the guarded definition.
func guardedOrders(t *testing.T, newOrders maker) *orders {
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.Journal, c.Definition = s.mode, guardedDefinition(t) })
	s.place(t, "o-1") // its total is 2500
	return s
}

// put sets an attribute of the order o-1, as another program would.
func (s *orders) put(t testing.TB, name string, value types.AttributeValue) {
	t.Helper()
	s.putOn(t, "o-1", name, value)
}

// putOn sets an attribute of an order, as another program would.
func (s *orders) putOn(t testing.TB, id transitions.OrderID, name string, value types.AttributeValue) {
	t.Helper()

	if _, err := s.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(shop.OrdersTable),
		Key:              map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(id)}},
		UpdateExpression: aws.String("SET #n = :v"), ExpressionAttributeNames: map[string]string{"#n": name},
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": value}}); err != nil {
		t.Fatal(err)
	}
}

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func captured(n int) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"captured": num(n)}}
}

func TestAGuardRefusesInTheSameWrite(t *testing.T) {
	for name, pay := range map[string]transitions.Request{"id given": given("o-1", "pay", 2), "id assigned": keyed("o-1", "pay", "r"),
		"if-match": {OrderID: "o-1", Event: "pay", RequestID: "r", IfMatch: seen(1)}, "from": {OrderID: "o-1", Event: "pay", TransitionID: 2, From: workflow.Pending}} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, newOrders maker) {
				s := guardedOrders(t, newOrders)
				refused := s.want(t, pay, transitions.WrongState)
				if !strings.Contains(refused.Reason, "total-covered") || refused.Order.State != workflow.Pending {
					t.Errorf("reason %q, order %+v", refused.Reason, refused.Order)
				}
				s.put(t, "payment", captured(2499))
				s.want(t, pay, transitions.WrongState)
				s.put(t, "payment", captured(2500))
				s.put(t, "blocked", &types.AttributeValueMemberBOOL{Value: true})

				if refused := s.want(t, pay, transitions.WrongState); !strings.Contains(refused.Reason, "not-blocked") || strings.Contains(refused.Reason, "total-covered") {
					t.Errorf("reason %q", refused.Reason)
				}

				if _, err := s.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(shop.OrdersTable),
					Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}, UpdateExpression: aws.String("REMOVE blocked")}); err != nil {
					t.Fatal(err)
				}
				s.want(t, pay, transitions.Applied)
				s.put(t, "payment", captured(0)) // an applied transition stays applied
				s.want(t, pay, transitions.Replayed)

				if wrong := s.want(t, given("o-1", "pay", 9), transitions.WrongState); wrong.Reason != "" {
					t.Errorf("only the state is wrong, so there must be no reason: %q", wrong.Reason)
				}
			})
		})
	}
}

func TestGuardsChooseTheTarget(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := guardedOrders(t, newOrders)
		s.put(t, "payment", captured(9999))
		s.want(t, given("o-1", "pay", 2), transitions.Applied)

		refused := s.want(t, given("o-1", "ship", 3), transitions.WrongState)
		if !strings.Contains(refused.Reason, "nothing-open") || !strings.Contains(refused.Reason, "something-open") {
			t.Errorf("without the count neither target is allowed: %q", refused.Reason)
		}

		if want := []workflow.State{workflow.PaymentReceived, workflow.PartiallyShipped}; !slices.Equal(refused.Expected, want) {
			t.Errorf("expected %v, want each state once: %v", refused.Expected, want)
		}
		s.put(t, "openLines", num(2))

		if r := s.want(t, given("o-1", "ship", 3), transitions.Applied); r.Order.State != workflow.PartiallyShipped {
			t.Errorf("with lines open it goes to %s", r.Order.State)
		}
		s.put(t, "openLines", num(0))

		if r := s.want(t, keyed("o-1", "ship", "r"), transitions.Applied); r.Order.State != workflow.Shipped {
			t.Errorf("with none open it goes to %s", r.Order.State)
		}
	})
}

func TestAGuardComparesWithAValueOfTheRequest(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := guardedOrders(t, newOrders)
		s.put(t, "payment", captured(2500))
		s.put(t, "openLines", num(0))
		s.put(t, "shippedAt", num(1000))
		s.want(t, given("o-1", "pay", 2), transitions.Applied)
		s.want(t, given("o-1", "ship", 3), transitions.Applied)

		request := given("o-1", "close", 4)
		if _, err := s.Apply(t.Context(), request); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "windowBegins") {
			t.Errorf("a request without the value that the guard needs: %v", err)
		}

		request.Values = map[string]any{"windowBegins": 1000}
		if r := s.want(t, request, transitions.WrongState); !strings.Contains(r.Reason, "window-over") {
			t.Errorf("reason %q", r.Reason)
		}
		request.Values = map[string]any{"windowBegins": int64(1001)}
		s.want(t, request, transitions.Applied)
		request.Values = map[string]any{"windowBegins": 2000}
		s.want(t, request, transitions.Replayed) // another value does not make it another request
	})
}

// TestAReturnAfterItsWindowIsRefused takes the order's own definition and adds the guard
// that docs/guides/transitions.md shows. enteredAt is when the order came into its state.
func TestAReturnAfterItsWindowIsRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		spec := workflow.Order().Spec()
		spec.Version++
		for i := range spec.Transitions {
			if spec.Transitions[i].Event == workflow.RequestReturn {
				spec.Transitions[i].Guards = []workflow.Guard{{Name: "return-window", Attribute: "enteredAt", Op: ">=", Request: "windowBegins"}}
			}
		}

		d, err := workflow.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		s := newOrders(t)
		s.reconfigure(func(c *transitions.Config) { c.Journal, c.Definition = s.mode, d })
		s.place(t, "o-1")

		for i, event := range []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver} {
			s.want(t, given("o-1", event, transitions.TransitionID(i+2)), transitions.Applied)
		}

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		r := keyed("o-1", workflow.RequestReturn, "customer")
		r.Values = map[string]any{"windowBegins": order.EnteredAt().UnixMilli() + 1}
		if late := s.want(t, r, transitions.WrongState); !strings.Contains(late.Reason, "return-window") {
			t.Errorf("reason %q", late.Reason)
		}
		r.Values = map[string]any{"windowBegins": order.EnteredAt().UnixMilli()}
		s.want(t, r, transitions.Applied)
	})
}

// TestARefusalNamesEveryGuardInTheWay: one for each state to which the event might have led.
func TestARefusalNamesEveryGuardInTheWay(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := guardedOrders(t, newOrders)
		if r := s.want(t, given("o-1", "pay", 2), transitions.WrongState); r.Reason != "guard total-covered (to PAYMENT_RECEIVED) needs payment.captured >= total.amount" {
			t.Errorf("reason %q", r.Reason)
		}
		s.put(t, "payment", captured(2500))
		s.want(t, given("o-1", "pay", 2), transitions.Applied)

		r := s.want(t, given("o-1", "ship", 3), transitions.WrongState) // the order has no openLines
		if r.Reason != "guard nothing-open (to SHIPPED) needs openLines = 0; guard something-open (to PARTIALLY_SHIPPED) needs openLines > 0" {
			t.Errorf("reason %q", r.Reason)
		}
	})
}

// TestEveryGuardOfAnEventNeedsItsValue: whether a request is complete does not depend on the
// state of the order. The order is read, because the request may have been applied earlier.
func TestEveryGuardOfAnEventNeedsItsValue(t *testing.T) {
	d, err := workflow.New(workflow.Spec{Name: "late", Version: 1, Place: "place", Initial: workflow.Pending,
		States: []workflow.StateSpec{{State: workflow.Pending}, {State: workflow.OnHold}, {State: workflow.Completed, Terminal: true}, {State: workflow.Cancelled, Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "hold", From: []workflow.State{workflow.Pending}, To: workflow.OnHold},
			{Event: "close", From: []workflow.State{workflow.Pending}, To: workflow.Cancelled},
			{Event: "close", From: []workflow.State{workflow.OnHold}, To: workflow.Completed, Guards: []workflow.Guard{
				{Name: "over", Attribute: "updatedAt", Op: "<", Request: "windowBegins"}}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.Definition = d })
	s.place(t, "o-1")
	s.Wire.Reset()

	r := given("o-1", "close", 2)
	if got, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "windowBegins") || !slices.Equal(s.Wire.Calls(), []string{"GetItem"}) {
		t.Errorf("%s, %v, calls %v", got.Verdict, err, s.Wire.Calls())
	}
	r.Values = map[string]any{"windowBegins": 1}
	s.want(t, r, transitions.Applied)
}

// TestAParcelHasNoValuesForGuards: a report of a parcel brings none, so a guard that needs one
// is an error, and not taken for a refusal.
func TestAParcelHasNoValuesForGuards(t *testing.T) {
	spec := workflow.Order().Spec()
	for i := range spec.Transitions {
		if spec.Transitions[i].Event == workflow.ShipPart {
			spec.Transitions[i].Guards = []workflow.Guard{{Name: "in-time", Attribute: "updatedAt", Op: "<", Request: "now"}}
		}
	}

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.Definition = d })
	s.paid(t, "o-1")

	if r, err := s.ShipParcel(t.Context(), parcel("p", pieces("mug", 1))); !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "now") {
		t.Errorf("%s, %v", r.Verdict, err)
	}
	s.sends(t, parcel("p", pieces("mug", 3), pieces("cup", 2)), transitions.Applied) // by "ship", which needs none
}

// TestAGuardHoldsUnderConcurrency changes a guard's attribute while many callers apply
// the transition: the order must be paid once, and only after its total is covered.
func TestAGuardHoldsUnderConcurrency(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := guardedOrders(t, newOrders)
		var applied atomic.Int32
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				if i == 10 {
					s.put(t, "payment", captured(2500))
				}

				r, err := s.Apply(t.Context(), keyed("o-1", "pay", transitions.RequestID(fmt.Sprint(i))))
				if err != nil {
					t.Error(err)
				}

				if r.Verdict == transitions.Applied {
					applied.Add(1)
				}
			})
		}
		group.Wait()

		if applied.Load() != 1 {
			t.Errorf("%d callers paid", applied.Load())
		}
	})
}

func TestExplainNamesTheGuards(t *testing.T) {
	s := guardedOrders(t, newOrders)
	e, err := inspect.Explain(t.Context(), s.Orders, "o-1")
	if err != nil {
		t.Fatal(err)
	}

	options := map[workflow.Event]inspect.Option{}
	for _, o := range e.Options {
		options[o.Event] = o
	}

	if o := options["pay"]; o.Legal || !strings.Contains(o.Unmet, "total-covered") {
		t.Errorf("pay: %+v", o)
	}
	s.put(t, "payment", captured(2500))
	s.put(t, "openLines", num(0))
	s.want(t, given("o-1", "pay", 2), transitions.Applied)
	s.want(t, given("o-1", "ship", 3), transitions.Applied)

	if e, err = inspect.Explain(t.Context(), s.Orders, "o-1"); err != nil {
		t.Fatal(err)
	}

	for _, o := range e.Options {
		if o.Event == "close" && (!o.Legal || o.To != workflow.Completed || !strings.Contains(o.If, "windowBegins")) {
			t.Errorf("close: %+v", o)
		}
	}
}
