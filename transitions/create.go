package transitions

import (
	"context"
	"fmt"
	"regexp"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/workflow"
)

// NewOrder is an order to be placed.
type NewOrder struct {
	ID OrderID `json:"orderId"`
	// Items: at most 1,000 lines of at most 97 different SKUs, each with a quantity of at
	// least 1 and a price of at least 0.
	Items []Item `json:"items,omitempty"`
	// Total is the amount that the customer pays, at least 0. The zero Money is no total. It is
	// only allowed if the definition has no totals (see [workflow.Spec].Content).
	Total Money `json:"total,omitzero"`
	// Customer is the customer's id in the caller's system: 1 to 100 of A-Z a-z 0-9 . _ : -
	// or empty. It is no place for personal data. It is part of the content and never
	// changes.
	Customer string `json:"customer,omitempty"`
	// Reference is the order's number in the caller's system, like the number that a shop shows
	// to its customers. It has the same form as Customer, and need not be unique. It is part of
	// the content and never changes.
	Reference string `json:"reference,omitempty"`
	// Shipping and Billing are part of the content. They may be edited later.
	Shipping Address `json:"shippingAddress,omitempty"`
	Billing  Address `json:"billingAddress,omitempty"`
	// Metadata is part of the content and never changes.
	Metadata Metadata `json:"metadata,omitempty"`
	// Own are attributes of the caller's own, with the bounds of [OwnChange]. They are part of the content, and may
	// be changed later.
	Own Attributes `json:"own,omitempty"`
	// PlacedBy names who places the order, like an execution. It is stored with the order and
	// is no part of its content: UTF-8, at most 512 bytes. It may be empty.
	PlacedBy string `json:"-"`
	// Incarnation names the life that begins, for a caller that writes other items with that name in the
	// same transaction (see [Order.LifeID]). Default: a new one. It is no part of the content, and an
	// order that exists keeps its own. It must have the form that [NewIncarnation] returns.
	Incarnation Incarnation `json:"-"`
	// Cause is the cause of the first transition. It is no part of the content.
	Cause Cause `json:"-"`
}

// placeID is the transitionId of placing an order.
const placeID TransitionID = 1

const (
	// maxItems is the most lines of an order.
	maxItems = 1000
	// maxSKUs is the most SKUs of an order. An order, its row in the journal, its reservation and
	// each SKU's stock are one transaction of at most 100 actions.
	maxSKUs = 97
)

var (
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
	skuRule      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\x21-\x7e]{1,128}$`) })
)

// Validate returns an ErrInvalidRequest that names the first field that breaks a rule, and
// the rule. It does not know which parts the definition has: see [NewOrder.ValidateFor].
func (n NewOrder) Validate() error {
	if err := n.ID.Validate(); err != nil {
		return err
	}

	if err := n.validateSettings(); err != nil {
		return err
	}

	if err := n.Cause.validateOf(n.ID); err != nil {
		return err
	}

	if len(n.Items) > maxItems {
		return fmt.Errorf("%w: items: %d lines, at most %d", ErrInvalidRequest, len(n.Items), maxItems)
	}

	for i, line := range n.Items {
		switch {
		case !skuRule().MatchString(line.SKU):
			return fmt.Errorf("%w: items[%d].sku: 1 to 128 printable ASCII characters without spaces", ErrInvalidRequest, i)
		case line.Quantity < 1:
			return fmt.Errorf("%w: items[%d].quantity %d: at least 1", ErrInvalidRequest, i, line.Quantity)
		case line.Shipped != 0:
			return fmt.Errorf("%w: items[%d].shipped: is counted from parcels and cannot be set", ErrInvalidRequest, i)
		case line.Price < 0:
			return fmt.Errorf("%w: items[%d].price %d: minor units, at least 0", ErrInvalidRequest, i, line.Price)
		}
	}

	if err := checkSKUs(n.Items); err != nil {
		return err
	}

	// The total comes last: it is mostly computed from the lines, so a wrong line is the
	// better message.
	switch {
	case n.Total == Money{}:
		return nil
	case n.Total.Amount < 0:
		return fmt.Errorf("%w: total.amount %d: minor units, at least 0", ErrInvalidRequest, n.Total.Amount)
	case !currencyRule.MatchString(n.Total.Currency):
		return errCurrency(n.Total)
	}

	return nil
}

func errCurrency(m Money) error {
	return fmt.Errorf("%w: total.currency %q: three capital letters (ISO 4217)", ErrInvalidRequest, clip(m.Currency))
}

// checkSKUs checks that the lines can be reserved in one transaction.
func checkSKUs(items []Item) error {
	if n := countSKUs(items); n > maxSKUs {
		return fmt.Errorf("%w: items: %d different SKUs, at most %d, because their stock is reserved in one transaction",
			ErrInvalidRequest, n, maxSKUs)
	}

	return nil
}

// countSKUs returns how many different SKUs the lines have together.
func countSKUs(lists ...[]Item) int {
	skus := map[string]struct{}{}

	for _, items := range lists {
		for _, line := range items {
			skus[line.SKU] = struct{}{}
		}
	}

	return len(skus)
}

// PlacedWith reports whether the order was placed with the content of n, even if it was edited since:
// whether Create of n would be Replayed.
func (o *Order) PlacedWith(n NewOrder) bool { return o.ID == n.ID && o.placed == n.content() }

// Create places an order. The verdict is Applied for the call that created it, Replayed for
// every later call with the same content, and Conflict with other content. It returns the
// errors of Apply, and [ErrJournalAhead] if a journal that is written in the same transaction has rows of
// an order that is gone.
func (o *Orders) Create(ctx context.Context, n NewOrder) (Result, error) {
	return o.CreateWith(ctx, n)
}

// CreateWith is Create together with parts that the functions add, like the reservation of
// the order's stock: one transaction of at most 100 actions writes all or nothing. The functions
// are called again for each attempt. The order takes one of these actions. Its journal row takes another if the journal is
// transactional.
//
// Applied means that this call has written the order and the parts. Replayed and Conflict
// mean that the order exists and that this call has written nothing. The call that placed the
// order may have done so without parts. If a part refuses, nothing is written, and the error
// is the part's error in a [*txn.CanceledError]. If there are too many parts, it is
// [txn.ErrInvalid].
func (o *Orders) CreateWith(ctx context.Context, n NewOrder, with ...func(*txn.Transaction)) (Result, error) {
	ctx, meter := o.metered(ctx)
	ctx, trace, end := o.begin(ctx, n.ID, o.def.Place(), n.Cause.Trace)
	n.Cause.Trace = trace

	result, err := o.create(ctx, n, with)
	end(result, err)

	if err != nil {
		return Result{}, &Error{Order: n.ID, Event: o.def.Place(), TransitionID: placeID, Err: err}
	}
	o.report(ctx, meter, Request{OrderID: n.ID, Event: o.def.Place(), TransitionID: placeID, Cause: n.Cause}, result)

	return result, nil
}

func (o *Orders) create(ctx context.Context, n NewOrder, with []func(*txn.Transaction)) (Result, error) {
	if err := n.Validate(); err != nil {
		return Result{}, err
	}

	if f := (OwnChange{Set: n.Own}).fault(o.cfg.Mapping); f != nil {
		return Result{}, n.ownFault(f)
	}

	// Every attempt begins the same life.
	if n.Incarnation == "" {
		var err error
		if n.Incarnation, err = o.NewIncarnation(ctx); err != nil {
			return Result{}, err
		}
	}

	return o.run(ctx, &placing{orders: o, order: n, with: with, refusal: n.fits(o.def), call: newCallID()}, sight{id: n.ID})
}

// placing is the plan of a new order.
type placing struct {
	orders  *Orders
	order   NewOrder
	with    []func(*txn.Transaction)
	refusal error // the definition does not allow the order, unless it was placed under an earlier one
	call    string
}

// decide judges the order that is there already. Its item keeps the digest of the content for its whole
// life, so the ring is not needed.
func (p *placing) decide(s *sight) decision {
	switch {
	case !s.fresh && p.refusal != nil:
		return decision{look: p.orders.look}
	case s.order == nil && p.refusal != nil:
		return decision{err: p.refusal}
	case s.order == nil:
		return p.orders.place(p, s)
	}

	// A digest that cannot be read does not prove other content.
	if err := s.order.Readable("placeHash"); err != nil {
		return decision{err: err}
	}

	// The content is compared first: if it differs, it makes no difference which call created the order.
	if !s.order.PlacedWith(p.order) {
		return decision{result: Result{Verdict: Conflict, Order: s.order}}
	}

	t, held := s.order.evidenceOfPlacing(Transition{Event: p.orders.def.Place(), To: p.orders.def.Initial()})
	result := Result{Verdict: Replayed, Transition: t, Order: s.order}
	if held && t.call == p.call {
		result.Verdict = Applied // this call created the order
	}

	return decision{result: result}
}

// absent is the condition that there is no such item.
var absent = "attribute_not_exists(orderId)"

// place plans the write of a new order.
func (o *Orders) place(p *placing, s *sight) decision {
	t := Transition{ID: placeID, Event: o.def.Place(), To: o.def.Initial(), At: s.now, Cause: p.order.Cause.fitted(), call: p.call}

	return o.placeItem(o.newItem(p.order, t), p.with)
}

// placeItem plans the write of the item of a new order, and of what is written with it.
func (o *Orders) placeItem(item image, with []func(*txn.Transaction)) decision {
	// The order is decoded from the item that is sent, so that the answer is exactly what a later
	// read returns.
	order, err := decode(item)
	if err != nil {
		return decision{err: err}
	}
	w := &write{after: order}

	// A transaction costs twice the write units of a PutItem, so it is used only for several items.
	if len(with) == 0 && o.cfg.Journal == JournalByStream {
		w.put = &dynamodb.PutItemInput{
			TableName:                           &o.cfg.Table,
			Item:                                item,
			ConditionExpression:                 &absent,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}

		return decision{write: w}
	}

	w.parts = &txn.Transaction{}
	// The order is the marker: if it exists, the whole transaction may have been made before.
	w.parts.Marker(orderPart, o.cfg.Mapping.part(types.TransactWriteItem{Put: &types.Put{
		TableName:           &o.cfg.Table,
		Item:                item,
		ConditionExpression: &absent,
	}}))

	if o.cfg.Journal == JournalTransactional {
		placed, _ := order.slot(placeID) // stored times have milliseconds, t.At had nanoseconds
		o.addRow(w.parts, o.journalRow(order, placed, nil))
	}

	for _, add := range with {
		add(w.parts)
	}

	return decision{write: w}
}

// newItem returns the item of a new order. The ring's slot 1 holds its placing.
func (o *Orders) newItem(n NewOrder, t Transition) image {
	recent := image{}
	t.addTo(recent)

	// Both maps must exist from the beginning: an update cannot set a member of an absent map.
	item := image{
		"orderId":            dynamo.S(string(n.ID)),
		incarnationAttribute: dynamo.S(string(n.Incarnation)),
		"orderState":         dynamo.S(string(o.def.Initial())),
		"transitionId":       dynamo.N(int64(placeID)),
		"definitionVersion":  dynamo.N(int64(o.def.Version())),
		"createdAt":          dynamo.Millis(t.At),
		updatedAtAttribute:   dynamo.Millis(t.At),
		enteredAtAttribute:   dynamo.Millis(t.At),
		"placeHash":          n.content().value(),
		"recent":             dynamo.M(recent),
		processedEvents:      dynamo.M(image{}),
	}
	if o.def.Has(workflow.PartItems) {
		item["items"] = itemsValue(n.Items)
	}

	if o.def.Has(workflow.PartTotal) {
		item["total"] = dynamo.M(image{"amount": dynamo.N(n.Total.Amount), "currency": dynamo.S(n.Total.Currency)})
	}

	n.settings(item)

	for name, v := range n.Own {
		item[o.cfg.Mapping.ownImage(name)] = v
	}
	t.setCause(item, n.ID)

	return item
}

func itemsValue(items []Item) types.AttributeValue {
	lines := make([]types.AttributeValue, len(items))
	for i, line := range items {
		lines[i] = line.value()
	}

	return &types.AttributeValueMemberL{Value: lines}
}
