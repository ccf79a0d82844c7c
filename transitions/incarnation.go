package transitions

import (
	"context"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"ratchet/internal/ids"
)

// Incarnation names one life of an order: 13 characters of 0-9 a-v, which sort by the time at which
// the life began. An order that another program has created, and that has no attribute of this name,
// has the incarnation "0", which sorts before every other.
type Incarnation string

const (
	incarnationAttribute = "incarnation"
	// adoptedIncarnation is the incarnation of an order without the attribute.
	adoptedIncarnation Incarnation = "0"
)

var lifeEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewIncarnation returns the name of a life that begins at the time: its milliseconds and 16 random
// bits, so that two lives that begin at once differ.
func NewIncarnation(at time.Time) Incarnation {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16|mrand.Uint64()&0xffff) //nolint:gosec // not a secret

	return Incarnation(lifeEncoding.EncodeToString(id[:]))
}

// NewIncarnation is the function of that name with the time of the service, for which it makes one read if no
// answer has stated it so far: the lives of an id are in the order of their names.
func (o *Orders) NewIncarnation(ctx context.Context) (Incarnation, error) {
	if err := o.clock.LearnFrom(ctx, o.cfg.DynamoDB.GetItem, o.cfg.Table, orderKey("clock")); err != nil {
		return "", fmt.Errorf("ask for the time: %w", asUnavailable(ctx, err))
	}

	return NewIncarnation(o.clock.Now()), nil
}

// validate returns an ErrInvalidRequest if i is not of the form that NewIncarnation returns.
func (i Incarnation) validate() error {
	if len(i) != 13 || i.Began().IsZero() {
		return fmt.Errorf("%w: incarnation: 13 characters of 0-9 a-v", ErrInvalidRequest)
	}

	return nil
}

// validateSeen is validate for a life that a caller may have seen.
func (i Incarnation) validateSeen() error {
	if i == "" || i == adoptedIncarnation {
		return nil
	}

	return i.validate()
}

// lived reports whether the order is in the life, or goes on from it.
func (o *Order) lived(i Incarnation) bool {
	return i == o.Incarnation || slices.ContainsFunc(o.earlier, func(s span) bool { return s.incarnation == i })
}

// isIn returns the condition that the order is in the life, whose value has the placeholder.
func isIn(i Incarnation, placeholder string) string {
	return equalsOrAbsent(incarnationAttribute, placeholder, i == adoptedIncarnation)
}

// inOtherLife is the answer to a request that names a life in which the order is not and which it does not go on
// from, else an empty decision. It is another order under the id: what it has made says nothing about the request.
func (o *Order) inOtherLife(named Incarnation) decision {
	if named == "" || o.lived(named) {
		return decision{}
	}
	reason := fmt.Sprintf("the order is in another life than %s, and shows not what became of the request there", named)

	return decision{result: Result{Verdict: Superseded, Order: o, Reason: reason}}
}

// renewedSince reports whether the order was renewed since the caller has seen it in the named life.
func (o *Order) renewedSince(named Incarnation) bool { return named != "" && named != o.Incarnation }

// EffectKey names the effect of one handler about one transition of the order, the same in every
// process and at all times: orderId/incarnation/transitionId/handler, with the id as internal/ids encodes it.
// The incarnation is the one of the life in which the transition was made (see [Orders.Renew]).
func (o *Order) EffectKey(t TransitionID, handler string) string {
	return fmt.Sprintf("%s/%s/%d/%s", ids.Encode(string(o.ID)), o.LifeAt(t), t, handler)
}

// LifeAt returns the incarnation of the life in which the order made, or will make, the transition.
func (o *Order) LifeAt(t TransitionID) Incarnation {
	for _, s := range o.earlier {
		if t <= s.upTo {
			return s.incarnation
		}
	}

	return o.Incarnation
}

// LifeID names the present life of the order where it is the whole key of something else, such as the parked
// task: orderId.incarnation. The id is not encoded, because the state machine joins the two, too.
func (o *Order) LifeID() string { return o.ID.Life(o.Incarnation) }

// PlacedLifeID is LifeID of the life in which the order was placed. It names the reservation of stock,
// which the order keeps when it is renewed.
func (o *Order) PlacedLifeID() string { return o.ID.Life(o.LifeAt(0)) }

// LifeIDs returns the LifeID of the present life and those of the lives that it continues, newest first.
// The order's payment has one of these names: see payments.Payments.OfOrder.
func (o *Order) LifeIDs() []string {
	names := []string{o.LifeID()}
	for _, s := range slices.Backward(o.earlier) {
		names = append(names, o.ID.Life(s.incarnation))
	}

	return names
}

// InLife returns the order as it was in this version, in the life of another version of it.
func (o *Order) InLife(of *Order) *Order {
	other := *o
	other.Incarnation, other.earlier = of.Incarnation, of.earlier

	return &other
}

// Life is the [Order.LifeID] of the order with this incarnation.
func (id OrderID) Life(i Incarnation) string { return string(id) + "." + string(i) }

// OrderOfLife returns the order's id in a text of [Order.LifeID].
func OrderOfLife(life string) OrderID {
	// An incarnation has no dot, and an order's id may have one.
	if end := strings.LastIndexByte(life, '.'); end >= 0 {
		return OrderID(life[:end])
	}

	return OrderID(life)
}

// Began returns when the life began, in milliseconds; the zero time for an order that another program
// has created.
func (i Incarnation) Began() time.Time {
	id, err := lifeEncoding.DecodeString(string(i))
	if err != nil || len(id) != 8 {
		return time.Time{}
	}

	return time.UnixMilli(int64(binary.BigEndian.Uint64(id) >> 16)).UTC()
}
