package transitions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/once/txn"
)

// plan is what one call wants of one order.
type plan interface {
	// decide says what is next, by the order as far as it is known. It only computes.
	decide(s *sight) decision
}

// sight is what one call has seen of its order.
type sight struct {
	id    OrderID
	life  Incarnation // that the caller has seen, "" if it has seen none
	now   time.Time   // for the times that the next write stores
	order *Order      // nil: not known, or there is none
	// fresh: the order, or that there is none, comes from the table, and not from the caller. Only
	// a fresh order decides an answer.
	fresh bool

	// What was found about transitions that the ring has forgotten: the transition that has the id of
	// the call or was made under its request id, nil for none; up to which id no such transition has
	// the request id; and whether the journal proves that the id was never applied.
	older      *Transition
	unusedUpTo TransitionID
	skipped    bool
}

// decision is what a plan says about an order: an answer, an error, what must be known first, or the
// write to send.
type decision struct {
	result Result // the answer, unless its verdict is 0
	err    error
	look   func(context.Context, *sight) error
	write  *write
}

// refuses reports whether the decision is an answer or an error.
func (d decision) refuses() bool { return d.err != nil || d.result.Verdict != 0 }

// of is a refusal by the definition, with the order as it is.
func (d decision) of(order *Order) decision {
	if d.err == nil {
		d.result.Order = order
	}

	return d
}

// write is one conditional write of an order: an update, a put, or the parts of a transaction.
type write struct {
	update *dynamodb.UpdateItemInput
	put    *dynamodb.PutItemInput
	parts  *txn.Transaction
	// after is the order as a write leaves it that returns no image. An update returns one.
	after *Order
	// keep is a row of the table of requests that must be there before the write, nil for none.
	keep image
	// into is the map that the write changes. Only an order that another program has created lacks it.
	// lacking: the order is known to lack it.
	into    string
	lacking bool
}

// call is the memory of one call over its rounds.
type call struct {
	attempts dynamo.Attempts
	clock    *dynamo.Clock
	began    time.Time   // by the machine's clock, which an answer may correct
	life     Incarnation // to which the first write was sent, "" if it was not known
	sent     int
	refused  int
	rested   bool // after the newest refusal
	lacking  bool // the order has turned out to lack the map that the write changes
	mapped   bool // the map was made
}

// run brings a call to its answer. Each round asks the plan for a decision, and does what it says: it
// reads what the plan has to know, or sends the write. The order that a write leaves, or the order
// that has refused it, is what the next round decides on.
//
// A call whose id was given needs one write and no read in the normal case.
func (o *Orders) run(ctx context.Context, p plan, s sight) (Result, error) {
	c := call{attempts: dynamo.Attempts{Most: o.cfg.Attempts}, clock: o.clock, began: o.clock.LocalNow(), life: s.life}
	s.now = o.clock.Service(c.began)

	for {
		d := p.decide(&s)

		err := d.err
		switch {
		case err != nil:
		case d.look != nil:
			err = c.again(ctx, d.look(ctx, &s))
		case d.write != nil:
			err = o.send(ctx, d.write, &s, &c)
		case c.proves(d.result):
			return d.result, nil
		default:
			err = errAnotherLife
		}

		if err != nil {
			return Result{}, o.withIndex(ctx, p, c.ended(err))
		}
	}
}

// errAnotherLife says why a verdict does not tell what became of an unanswered write.
var errAnotherLife = errors.New("the order is gone, or was placed again meanwhile")

// proves reports whether the call may end in the verdict. While every attempt was answered, it may. An
// order that has not made the transition proves that it never did, but only if it is the order to which
// an unanswered attempt was sent: that one may have been moved and then deleted.
func (c *call) proves(r Result) bool {
	switch {
	case !c.attempts.Unanswered() || r.Verdict.Done():
		return true
	case r.Order == nil:
		return false
	case c.life != "":
		return r.Order.lived(c.life)
	}

	return !r.Order.CreatedAt.After(c.clock.Service(c.began))
}

// again returns the error of something that came before a write. Once an attempt of the write had no
// answer, it waits and returns nil until the bound, because only evidence may end the call.
func (c *call) again(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}

	return c.attempts.Judged(ctx, err, false, false)
}

// failed notes that an attempt of the write has failed, and waits. It returns nil if the write is to be
// sent again.
func (c *call) failed(ctx context.Context, err error) error {
	var refusal *txn.CanceledError

	switch {
	// Nothing was sent, or a part of the caller has refused the transaction.
	case errors.Is(err, txn.ErrInvalid), errors.As(err, &refusal):
		return err
	case txn.Retryable(err):
		return c.attempts.Judged(ctx, err, errors.Is(err, txn.ErrUnknown), true)
	}

	return c.attempts.Failed(ctx, err)
}

// ended returns the error that ends the call. It is the only place that says whether the outcome is
// known: once an attempt had no answer, no error proves that nothing was written.
func (c *call) ended(err error) error {
	var conflict *types.TransactionConflictException
	var collection *types.ItemCollectionSizeLimitExceededException

	switch {
	case c.attempts.Unanswered() && errors.Is(err, dynamo.ErrUnanswered):
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case c.attempts.Unanswered():
		// Errors of this package say that nothing was written, so err is not wrapped.
		return fmt.Errorf("%w: %v", ErrOutcomeUnknown, err) //nolint:errorlint // see above
	case errors.As(err, &conflict), errors.Is(err, txn.ErrContended):
		return fmt.Errorf("%w: %w", ErrContended, err)
	case dynamo.Retryable(err) && !errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	// Our bounds keep an order below the limit, so own attributes of several requests or other programs have filled it.
	case itemTooLarge(err):
		return errors.Join(&LimitError{What: "item bytes", Limit: maxItemBytes}, err)
	case errors.As(err, &collection):
		return errors.Join(&LimitError{What: "bytes of items with one partition key, which a local index has", Limit: maxCollectionBytes}, err)
	}

	return err
}

// send sends the write once, after what must be there before it. It leaves in s the order as the write
// has left it, or as it has refused the write. It returns nil if the plan is to decide again.
func (o *Orders) send(ctx context.Context, w *write, s *sight, c *call) error {
	switch {
	case c.sent == o.cfg.Attempts:
		return ErrContended
	// Others keep changing the order. After the wait its image is old, so it is read again.
	case c.refused > 1 && !c.rested:
		if c.rested = true; !worker.WaitRetry(ctx, c.refused-1, firstWait, longestWait) {
			return fmt.Errorf("%w: %w", ErrContended, context.Cause(ctx))
		}

		return c.again(ctx, o.look(ctx, s))
	case (w.lacking || c.lacking) && !c.mapped:
		return o.makeMap(ctx, w.into, s, c)
	}

	if err := o.keep(ctx, w.keep); err != nil {
		return c.again(ctx, err)
	}

	if c.sent++; c.sent == 1 && c.life == "" && s.order != nil {
		c.life = s.order.Incarnation
	}

	img, refused, err := o.sendOnce(ctx, w)
	if err != nil || refused {
		s.now = o.clock.Now() // of the next attempt
	}

	switch {
	case mapMissing(err) && !c.mapped:
		c.lacking = true
		return nil
	// Another program has an attribute of this name, which is no map.
	case mapMissing(err):
		return fmt.Errorf("%w: attribute %s is not a map: %w", ErrUnreadable, w.into, err)
	case err != nil:
		return c.failed(ctx, err)
	case refused:
		c.refused++
		c.attempts.Most--
		c.rested = false
	case w.after != nil:
		s.order, s.fresh = w.after, true
		return nil
	}

	if s.order, s.fresh, err = nil, true, nil; len(img) > 0 {
		s.order, err = decode(img)
	}

	return err
}

// sendOnce sends the write. It returns the image of the order after it, or the image that has refused it.
func (o *Orders) sendOnce(ctx context.Context, w *write) (img image, refused bool, err error) {
	switch {
	case w.update != nil:
		var out *dynamodb.UpdateItemOutput
		if out, err = o.cfg.DynamoDB.UpdateItem(ctx, w.update); err == nil {
			return out.Attributes, false, nil
		}
		img, refused = dynamo.FailedCondition(err)
	case w.put != nil:
		_, err = o.cfg.DynamoDB.PutItem(ctx, w.put)
		img, refused = dynamo.FailedCondition(err)
	default:
		err = o.transactions.Write(ctx, w.parts)

		if refusal := (*txn.CanceledError)(nil); errors.As(err, &refusal) && refusal.Marker {
			img, _ = o.cfg.Mapping.image(refusal.Old, "")
			refused = true
		}
	}

	if refused {
		err = nil
	}

	return img, refused, err
}

// look reads the order.
func (o *Orders) look(ctx context.Context, s *sight) (err error) {
	order, found, err := o.get(ctx, s.id)
	if err != nil {
		return err
	}

	s.order, s.fresh = order, true
	if !found {
		s.order = nil
	}

	return nil
}

// The waits of a call that others keep refusing: full jitter, growing up to the longest.
const (
	firstWait   = 25 * time.Millisecond
	longestWait = time.Second
)

// beside sends a write beside the order that changes nothing when it is repeated, until DynamoDB has
// decided.
func (o *Orders) beside(ctx context.Context, send func() error) (refused bool, err error) {
	_, refused, err = dynamo.UntilDecided(ctx, o.cfg.Attempts, send)
	if err != nil {
		err = asUnavailable(ctx, err)
	}

	return refused, err
}

// mapMissing recognizes the refusal of an update whose document path leads through a map
// that the item does not have.
func mapMissing(err error) bool {
	var api smithy.APIError

	// Every invalid request has this code, so the message decides.
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" &&
		strings.Contains(api.ErrorMessage(), "document path")
}

// mapMaking gives an order that another program has created the map that an update
// writes into. It changes nothing else and may be sent any number of times.
func mapMaking(table string, id OrderID, name string) *dynamodb.UpdateItemInput {
	return dynamo.NewUpdate(table, orderKey(id)).
		Bind(":empty", dynamo.M(image{})).
		If("attribute_exists(orderId)").
		Set(name + " = if_not_exists(" + name + ", :empty)").
		Input()
}

// makeMap sends mapMaking once.
func (o *Orders) makeMap(ctx context.Context, name string, s *sight, c *call) error {
	_, err := o.cfg.DynamoDB.UpdateItem(ctx, mapMaking(o.cfg.Table, s.id, name))
	if _, gone := dynamo.FailedCondition(err); gone {
		s.order, s.fresh = nil, true
		return nil
	}

	if err != nil {
		return c.failed(ctx, err)
	}
	c.mapped = true

	return nil
}
