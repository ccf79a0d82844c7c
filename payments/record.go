package payments

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/workflow"
)

func paymentKey(id string) dynamo.Item { return dynamo.Item{"paymentId": dynamo.S(id)} }

func encodeTime(t time.Time) types.AttributeValue { return dynamo.N(t.UnixMilli()) }

// decodeTime reads epoch milliseconds. It returns the zero time if there are none.
func decodeTime(item dynamo.Item, name string) time.Time {
	ms := dynamo.Number(item, name)
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms).UTC()
}

// item returns the record of the payment.
func (p Payment) item() dynamo.Item {
	steps := make([]types.AttributeValue, len(p.Steps))
	for i, s := range p.Steps {
		steps[i] = dynamo.M(s.item())
	}

	item := dynamo.Item{
		"paymentId":  dynamo.S(p.ID),
		"orderId":    dynamo.S(p.OrderID),
		"payer":      dynamo.S(p.Payer),
		"payee":      dynamo.S(p.Payee),
		"amount":     dynamo.N(p.Amount),
		"currency":   dynamo.S(p.Currency),
		"state":      dynamo.S(string(p.State)),
		"capturable": dynamo.N(p.Capturable),
		"captured":   dynamo.N(p.Captured),
		"refunded":   dynamo.N(p.Refunded),
		"revision":   dynamo.N(p.Revision),
		"createdAt":  encodeTime(p.CreatedAt),
		"updatedAt":  encodeTime(p.UpdatedAt),
		"call":       dynamo.S(p.call),
		"steps":      &types.AttributeValueMemberL{Value: steps},
	}
	if !p.ExpiresAt.IsZero() {
		item["expiresAt"] = encodeTime(p.ExpiresAt)
	}

	// False is left out, so that most records stay small.
	if p.AtOnce {
		item["atOnce"] = dynamo.Bool(true)
	}

	if p.Canceled {
		item["canceled"] = dynamo.Bool(true)
	}

	if p.Pending != nil {
		item["pending"] = dynamo.M(p.Pending.item())
	}

	return item
}

func (s Step) item() dynamo.Item {
	item := dynamo.Item{
		"id":      dynamo.S(s.ID),
		"kind":    dynamo.S(string(s.Kind)),
		"amount":  dynamo.N(s.Amount),
		"final":   dynamo.Bool(s.Final),
		"outcome": dynamo.S(string(s.Outcome)),
		"at":      encodeTime(s.At),
	}
	if s.Reference != "" {
		item["reference"] = dynamo.S(s.Reference)
	}

	if s.Reason != "" {
		item["reason"] = dynamo.S(s.Reason)
	}

	return item
}

// The types of the attributes of a payment, and of each of its steps.
var (
	paymentKinds = dynamo.Kinds{
		"paymentId": "S", "orderId": "S", "payer": "S", "payee": "S", "currency": "S", "state": "S", "call": "S",
		"amount": "N", "capturable": "N", "captured": "N", "refunded": "N", "revision": "N", "expiresAt": "N", "createdAt": "N",
		"updatedAt": "N", "atOnce": "BOOL", "canceled": "BOOL", "pending": "M", "steps": "L",
	}
	stepKinds = dynamo.Kinds{
		"id": "S", "kind": "S", "outcome": "S", "reference": "S", "reason": "S", "amount": "N", "at": "N", "final": "BOOL",
	}
)

// readPayment reads a payment. It returns nil if there is no item, and errUnreadable if an attribute is not of
// its type: without one of its steps, a payment would be taken or given back twice.
func readPayment(item dynamo.Item) (*Payment, error) {
	err := cmp.Or(paymentKinds.Check(item), stepKinds.CheckAll(item, "steps"))
	if m, ok := item["pending"].(*types.AttributeValueMemberM); ok && err == nil {
		err = stepKinds.Check(m.Value)
	}

	if err != nil {
		return nil, fmt.Errorf("payment %s: %w: %w", dynamo.Text(item, "paymentId"), errUnreadable, err)
	}

	return decodePayment(item), nil
}

// decodePayment reads a payment as far as it can be read. It returns nil if there is no item.
func decodePayment(item dynamo.Item) *Payment {
	if len(item) == 0 {
		return nil
	}

	p := &Payment{
		NewPayment: NewPayment{
			ID:        dynamo.Text(item, "paymentId"),
			OrderID:   dynamo.Text(item, "orderId"),
			Payer:     dynamo.Text(item, "payer"),
			Payee:     dynamo.Text(item, "payee"),
			Amount:    dynamo.Number(item, "amount"),
			Currency:  dynamo.Text(item, "currency"),
			ExpiresAt: decodeTime(item, "expiresAt"),
		},
		State:      workflow.State(dynamo.Text(item, "state")),
		Capturable: dynamo.Number(item, "capturable"),
		Captured:   dynamo.Number(item, "captured"),
		Refunded:   dynamo.Number(item, "refunded"),
		AtOnce:     dynamo.Flag(item, "atOnce"),
		Canceled:   dynamo.Flag(item, "canceled"),
		Revision:   dynamo.Number(item, "revision"),
		Steps:      []Step{},
		CreatedAt:  decodeTime(item, "createdAt"),
		UpdatedAt:  decodeTime(item, "updatedAt"),
		call:       dynamo.Text(item, "call"),
	}
	if m, ok := item["pending"].(*types.AttributeValueMemberM); ok {
		s := decodeStep(m.Value)
		p.Pending = &s
	}

	if list, ok := item["steps"].(*types.AttributeValueMemberL); ok {
		for _, v := range list.Value {
			if m, ok := v.(*types.AttributeValueMemberM); ok {
				p.Steps = append(p.Steps, decodeStep(m.Value))
			}
		}
	}

	// Uncollected is computed and not stored, because it follows from the state and the steps.
	p.Uncollected = p.uncollected()

	return p
}

func decodeStep(item dynamo.Item) Step {
	return Step{
		ID:        dynamo.Text(item, "id"),
		Kind:      Kind(dynamo.Text(item, "kind")),
		Amount:    dynamo.Number(item, "amount"),
		Final:     dynamo.Flag(item, "final"),
		Outcome:   Outcome(dynamo.Text(item, "outcome")),
		Reference: dynamo.Text(item, "reference"),
		Reason:    dynamo.Text(item, "reason"),
		At:        decodeTime(item, "at"),
	}
}

// Names of the parts of transactions.
const (
	partPayment = "payment"
	partReceipt = "receipt"
)

// errUnreadable means that the record of a payment was not written by this package.
var errUnreadable = errors.New("the stored payment cannot be read")

// errStale means that the payment was written since it was read.
var errStale = errors.New("the payment was changed meanwhile")

// newCallID returns a random id for one write, so that the writer recognizes its own write
// after a lost answer.
func newCallID() string { return rand.Text() }

// put replaces the record of the payment, provided that it has the revision before.
func (s *Payments) put(next Payment) *types.Put {
	put := &types.Put{
		TableName:           &s.cfg.Tables.Payments,
		Item:                next.item(),
		ConditionExpression: aws.String("attribute_not_exists(paymentId)"),
	}
	if next.Revision > 1 {
		// The revision alone decides: every write of a payment raises it by one.
		put.ConditionExpression = aws.String("revision = :before")
		put.ExpressionAttributeValues = dynamo.Item{":before": dynamo.N(next.Revision - 1)}
	}

	return put
}

// txPart returns a part for a transaction of the ledger. It writes the payment, its due rows and
// the further parts.
func (s *Payments) txPart(next Payment, parts []ledger.TxPart) ledger.TxPart {
	return func(t *txn.Transaction) {
		t.Add(partPayment, types.TransactWriteItem{Put: s.put(next)}, txn.FailWith(errStale))
		s.addOthers(next, t, parts)
	}
}

// addOthers adds the due rows of the payment, and the parts.
func (s *Payments) addOthers(next Payment, t *txn.Transaction, parts []ledger.TxPart) {
	s.addDueRows(next, t)

	for _, add := range parts {
		add(t)
	}
}

// save writes the payment with further parts. If another call has changed the payment since it was
// read, save returns errStale and the changed payment.
func (s *Payments) save(ctx context.Context, next Payment, parts ...ledger.TxPart) (Payment, error) {
	var t txn.Transaction
	put := s.put(next)

	if next.end != "" {
		put.ConditionExpression = aws.String(*put.ConditionExpression + " AND " + next.end)

		t.EachAttempt(func(ctx context.Context) error {
			if err := s.learn(ctx); err != nil {
				return err
			}

			put.ExpressionAttributeValues[":now"] = encodeTime(s.clock.Now())

			return nil
		})
	}

	// The record is the marker: it has the id of this call.
	t.Marker(partPayment, types.TransactWriteItem{Put: put})
	s.addOthers(next, &t, parts)

	return s.resolveWrite(next, s.writer.Write(ctx, &t))
}

// resolveWrite reads the answer to a write of next. If another call has changed the payment, it
// returns errStale and the changed payment. If the refused record has the call id of next, this call
// wrote it and lost the answer: that is a success.
func (s *Payments) resolveWrite(next Payment, err error) (Payment, error) {
	var refused *txn.CanceledError
	switch {
	case err == nil:
		next.Uncollected = next.uncollected()
		return next, nil
	case !errors.As(err, &refused) || refused.Part != partPayment:
		return next, err
	}

	now, err := readPayment(refused.Old)
	switch {
	case err != nil:
		return next, err
	// The write was refused although there is no record: a person or a restore has removed the record
	// after this call read it.
	case now == nil:
		return next, fmt.Errorf("payment %s: %w", next.ID, ErrUnknownPayment)
	case now.Revision == next.Revision && now.call == next.call:
		return *now, nil
	}

	return *now, errStale
}
