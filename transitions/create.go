package transitions

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// NewOrder is an order to be placed.
type NewOrder struct {
	ID OrderID `json:"orderId"`
	// Items: at most 1,000 lines, each with a quantity of at least 1 and a price of
	// at least 0.
	Items []Item `json:"items,omitempty"`
	// Total is what the customer pays, at least 0.
	Total Money `json:"total"`
}

// PlaceID is the transitionId of placing an order.
const PlaceID TransitionID = 1

const maxItems = 1000

var (
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
	skuRule      = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)
)

// Validate names the first field that breaks a rule, and the rule.
func (n NewOrder) Validate() error {
	if err := n.ID.Validate(); err != nil {
		return err
	}

	if len(n.Items) > maxItems {
		return fmt.Errorf("%w: items: %d lines, at most %d", ErrInvalidRequest, len(n.Items), maxItems)
	}

	for i, line := range n.Items {
		switch {
		case !skuRule.MatchString(line.SKU):
			return fmt.Errorf("%w: items[%d].sku: 1 to 128 printable ASCII characters without spaces", ErrInvalidRequest, i)
		case line.Quantity < 1:
			return fmt.Errorf("%w: items[%d].quantity %d: at least 1", ErrInvalidRequest, i, line.Quantity)
		case line.Shipped != 0:
			return fmt.Errorf("%w: items[%d].shipped: is counted from parcels and cannot be set", ErrInvalidRequest, i)
		case line.Price < 0:
			return fmt.Errorf("%w: items[%d].price %d: minor units, at least 0", ErrInvalidRequest, i, line.Price)
		}
	}

	switch { // a total is mostly computed: what is wrong with a line comes first
	case n.Total.Amount < 0:
		return fmt.Errorf("%w: total.amount %d: minor units, at least 0", ErrInvalidRequest, n.Total.Amount)
	case !currencyRule.MatchString(n.Total.Currency):
		return fmt.Errorf("%w: total.currency %q: three capital letters (ISO 4217)", ErrInvalidRequest, clip(n.Total.Currency))
	}

	return nil
}

// content is what must be equal between two placings of one order.
func (n NewOrder) content() digest {
	parts := []string{fmt.Sprint(n.Total.Amount), n.Total.Currency}
	for _, line := range n.Items {
		parts = append(parts, line.SKU, fmt.Sprint(line.Quantity), fmt.Sprint(line.Price))
	}

	return digestOf(parts...)
}

// Create places an order, once: Applied for the call that created it, Replayed for
// every later call with the same content, Conflict with other content.
func (o *Orders) Create(ctx context.Context, n NewOrder) (Result, error) {
	counting, meter := o.metered()
	result, err := counting.create(ctx, n)
	if err != nil {
		return Result{}, &Error{Order: n.ID, Event: o.def.Place(), TransitionID: PlaceID, Err: err}
	}
	o.consumed(meter, n.ID, result.Verdict)
	o.decided(ctx, Request{OrderID: n.ID, Event: o.def.Place(), TransitionID: PlaceID}, result.Verdict)

	return result, nil
}

func (o *Orders) create(ctx context.Context, n NewOrder) (Result, error) {
	if err := n.Validate(); err != nil {
		return Result{}, err
	}

	w := o.prepare(Request{OrderID: n.ID, Event: o.def.Place()}, PlaceID, workflow.Group{To: o.def.Initial()}, traceNone)
	item := o.newItem(n, w)
	if o.cfg.Journal == JournalTransactional {
		return o.createJournaled(ctx, n, item, w)
	}

	for attempt := 1; ; attempt++ {
		_, err := o.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &o.cfg.Table, Item: item, ConditionExpression: &absent,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		var exists *types.ConditionalCheckFailedException
		switch {
		case err == nil:
			return o.applied(item, PlaceID)
		case errors.As(err, &exists):
			return placedBefore(exists.Item, n, w)
		case !ambiguous(ctx, err):
			return Result{}, err
		case attempt == o.cfg.Attempts || !pause(ctx, attempt):
			return Result{}, errors.Join(ErrOutcomeUnknown, err)
		}
	}
}

var absent = "attribute_not_exists(orderId)"

// newItem is the item of a new order, its placing in the ring's slot 1.
func (o *Orders) newItem(n NewOrder, w write) image {
	lines := make([]types.AttributeValue, len(n.Items))
	for i, line := range n.Items {
		lines[i] = line.value()
	}
	ring := dynamo.M(image{ringNames.slot[PlaceID%RingSize]: w.slot()})

	return image{
		"orderId": dynamo.S(string(n.ID)), "orderState": dynamo.S(string(o.def.Initial())), "transitionId": dynamo.N(int64(PlaceID)),
		"definitionVersion": dynamo.N(int64(o.def.Version())), "createdAt": dynamo.N(w.at.UnixMilli()), "updatedAt": dynamo.N(w.at.UnixMilli()),
		"placeHash": n.content().value(), "recent": ring, processedEvents: dynamo.M(image{}), "items": &types.AttributeValueMemberL{Value: lines},
		"total": dynamo.M(image{"amount": dynamo.N(n.Total.Amount), "currency": dynamo.S(n.Total.Currency)}),
	}
}

// placedBefore judges a placing that found the order already there. The hash of
// the content stays in the item for its whole life, so the ring is not needed.
func placedBefore(img image, n NewOrder, w write) (Result, error) {
	order, err := decode(img)
	if err != nil {
		return Result{}, err
	}

	t, held := order.slot(PlaceID)
	if !held {
		t = Transition{ID: PlaceID, Event: w.request.Event, To: w.group.To, At: order.CreatedAt}
	}

	switch {
	case order.placed != n.content():
		return Result{Verdict: Conflict, Order: order}, nil
	case held && t.call == w.call:
		return Result{Verdict: Applied, Transition: t, Order: order}, nil
	}

	return Result{Verdict: Replayed, Transition: t, Order: order}, nil
}
