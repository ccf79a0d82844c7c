package scheduled

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/transitions"
)

// Placed is the answer of [Schedule.Place].
type Placed struct {
	Request Request
	// Repeated: an earlier call has placed the request.
	Repeated bool
}

// Place stores the request, so that it is judged and applied at the time, which counts in milliseconds. The request must
// have a request id. It is for the life that it names, and else for the present life of the order.
//
// A request that breaks a rule is [transitions.ErrInvalidRequest], and an order that does not exist
// [transitions.ErrUnknownOrder]. Whether the order can make the transition is judged at the time, and not here.
//
// It costs a read of the order, one of the request, and 8 write units if it is below 1 KB.
func (s *Schedule) Place(ctx context.Context, r transitions.Request, at time.Time) (Placed, error) {
	placed, err := s.place(ctx, r, at)
	if err != nil {
		err = fmt.Errorf("schedule %s of order %s: %w", r.Event, r.OrderID, err)
	}

	return placed, err
}

func (s *Schedule) place(ctx context.Context, r transitions.Request, at time.Time) (Placed, error) {
	if err := s.check(r); err != nil {
		return Placed{}, err
	}

	// What comes a year later is no part of a trace of now.
	r.Cause.Trace = ""
	at = at.UTC().Truncate(time.Millisecond)
	call := rand.Text()

	for range rounds {
		order, found, err := s.cfg.Orders.Get(ctx, r.OrderID)
		switch {
		case err != nil:
			return Placed{}, err
		case !found:
			return Placed{}, transitions.ErrUnknownOrder
		}

		placed, again, err := s.placeOn(ctx, order, r, at, call)
		if !again {
			return placed, err
		}
	}

	return Placed{}, transitions.ErrContended
}

// check returns an ErrInvalidRequest that names what is wrong with the request.
func (s *Schedule) check(r transitions.Request) error {
	if err := r.Validate(); err != nil {
		return err
	}

	switch {
	case r.RequestID == "":
		return fmt.Errorf("%w: requestId: a request for later needs one", transitions.ErrInvalidRequest)
	case r.IfContent != nil, r.Seen != nil:
		return fmt.Errorf("%w: ifContent, seen: not for later", transitions.ErrInvalidRequest)
	case r.Event == s.cfg.Orders.Definition().Place():
		return fmt.Errorf("%w: event %s creates an order, and not for later", transitions.ErrInvalidRequest, r.Event)
	}

	return r.Own.Validate(s.cfg.Orders.Mapping())
}

// placeOn places the request on the order as it was read. again says that the order has changed meanwhile.
func (s *Schedule) placeOn(ctx context.Context, order *transitions.Order, r transitions.Request, at time.Time, call string) (placed Placed, again bool, err error) {
	named := r.Incarnation != ""
	// An attribute of another program names no life.
	if readable := order.Readable(attrLife) == nil; !named && readable {
		r.Incarnation = order.Incarnation
	}

	content, err := contentOf(r, at)
	if err != nil {
		return placed, false, err
	}

	asked := Request{
		OrderID: r.OrderID, ID: idOf(r, order), Event: r.Event, From: r.From, Cause: r.Cause, Life: r.Incarnation, At: at, Status: Pending,
		request: r, content: content, call: call, firstAt: at, revision: 1,
	}

	// A repeat gets the first answer, whatever the time and the order are by now. The answer also tells the time.
	was, found, err := s.get(ctx, asked.OrderID, asked.ID)
	if err != nil || found {
		placed, err = was.repeated(asked, err)
		return placed, false, err
	}
	asked.PlacedAt = s.clock.Now().UTC().Truncate(time.Millisecond)

	switch {
	case named && r.Incarnation != order.Incarnation, !order.ErasedAt.IsZero():
		return placed, false, ErrAnotherLife
	case at.Before(asked.PlacedAt.Add(-grace)), at.After(asked.PlacedAt.Add(furthest)):
		return placed, false, ErrTime
	}

	item, err := asked.item()
	if err != nil {
		return placed, false, err
	}

	var t txn.Transaction
	t.Marker("request", types.TransactWriteItem{Put: &types.Put{
		TableName: &s.cfg.Table, Item: item,
		// DynamoDB deletes what has expired up to two days late.
		ConditionExpression:       aws.String("attribute_not_exists(" + attrOrder + ") OR " + ExpiryAttribute + " <= :now"),
		ExpressionAttributeValues: dynamo.Item{":now": dynamo.Seconds(s.clock.Now())},
	}})
	s.cfg.Orders.Living(order)(&t)
	t.Add("count", types.TransactWriteItem{Update: s.counted(asked)}, txn.FailWith(ErrFull))
	t.Add("due row", s.rows.PutPart(asked.row()), nil)

	err = s.writer.Write(ctx, &t)

	refusal := (*txn.CanceledError)(nil)
	switch {
	case errors.As(err, &refusal) && refusal.Marker:
		was, err := parse(refusal.Old)
		placed, err = was.repeated(asked, err)

		return placed, false, err
	case errors.Is(err, transitions.ErrContended):
		return placed, true, nil
	}

	return Placed{Request: asked}, false, err
}

// repeated answers a call with the request that is stored under its id.
func (r Request) repeated(asked Request, err error) (Placed, error) {
	switch {
	case err != nil:
		return Placed{}, err
	case !bytes.Equal(r.content, asked.content):
		return Placed{}, ErrConflict
	}

	// After a lost answer, an attempt meets what this call has stored itself.
	return Placed{Request: r, Repeated: r.call != asked.call}, nil
}

// counted counts a new request. The condition is the bound.
func (s *Schedule) counted(r Request) *types.Update {
	return dynamo.NewUpdate(s.cfg.Table, countKey(r.OrderID, r.Life)).
		If("attribute_not_exists(#"+attrPending+") OR #"+attrPending+" < :most").Alias("#"+attrPending, attrPending).
		Bind(":most", dynamo.N(mostWaiting)).Bind(":one", dynamo.N(1)).
		Add("#" + attrPending + " :one").
		Part()
}

// Get reads a request of an order. It is [ErrNotFound] if there is none.
func (s *Schedule) Get(ctx context.Context, order transitions.OrderID, id ID) (Request, error) {
	r, found, err := s.get(ctx, order, id)
	if err == nil && !found {
		err = ErrNotFound
	}

	if err != nil {
		err = fmt.Errorf("scheduled request %s of order %s: %w", id, order, err)
	}

	return r, err
}

func (s *Schedule) get(ctx context.Context, order transitions.OrderID, id ID) (r Request, found bool, err error) {
	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.cfg.Table, Key: requestKey(order, id), ConsistentRead: aws.Bool(true),
	}, s.clock.Listen)
	if err != nil || s.absent(out.Item) {
		return r, false, err
	}
	r, err = parse(out.Item)

	return r, err == nil, err
}

// absent reports whether there is no item, or one that has expired and that DynamoDB has not deleted yet.
func (s *Schedule) absent(item dynamo.Item) bool {
	expires := dynamo.Number(item, ExpiryAttribute)

	return len(item) == 0 || expires != 0 && expires <= s.clock.Now().Unix()
}
