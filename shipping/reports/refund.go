package reports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
)

// refundStep returns the id of the payment's step that refunds a parcel. It depends on the parcel only,
// so a parcel has one such step, even if it is reported several times or under several ids. The text is
// stored.
func refundStep(parcel string) string {
	sum := sha256.Sum256([]byte(parcel))

	return "parcel-" + hex.EncodeToString(sum[:13])
}

// refundParcel gives back the money of a parcel that has come back while others have not. When the last
// parcel comes back, the order moves to RETURNED (of the shop) instead, and the handler of that state gives the rest
// back.
func (d *Receiver) refundParcel(ctx context.Context, order *transitions.Order, r shipping.Report) (ruling, error) {
	switch {
	case slices.Contains(slices.Concat(d.definition().Back(), d.beyond(d.definition().Back())), order.State) || order.Total.Amount == 0:
		return accepted, nil // the order's whole payment is given back, or the order costs nothing
	case !d.endedWell(order) && !d.comesTo(order.State, d.definition().Back()):
		return ruling{answer: shipping.Rejected, reason: fmt.Sprintf("the order is %s", order.State)}, nil
	}

	id, err := d.cfg.Payments.OfOrder(ctx, order.LifeIDs())
	if err != nil {
		return ruling{}, err
	}

	p, err := d.cfg.Payments.Get(ctx, id)
	switch {
	case errors.Is(err, payments.ErrUnknownPayment):
		return attention("parcel %s came back, and the order was paid elsewhere: give its money back there", r.Parcel).
			with("ratchet orders get %s", order.ID.Arg()), nil
	case err != nil:
		return ruling{}, err
	case p.Canceled:
		return accepted, nil // Cancel gives everything back
	}

	if err := order.Readable("total", "items"); err != nil {
		return attention("parcel %s came back, and nothing is given back: %v", r.Parcel, err).with("ratchet orders get %s", order.ID.Arg()), nil
	}

	request, rule, err := d.planRefund(ctx, order, p, r)
	if err != nil || request.Amount == 0 {
		return rule, err
	}

	_, err = d.cfg.Payments.Refund(ctx, p.ID, request)

	return refundRuling(r.Parcel, p.ID, err)
}

// endedWell reports whether the order has ended well and stays so, like a completed one.
func (d *Receiver) endedWell(order *transitions.Order) bool {
	return d.definition().Terminal(order.State) && d.definition().Settled(order.State)
}

// planRefund returns the refund of a parcel. If nothing is to be refunded now, the amount is 0 and the
// ruling says why.
func (d *Receiver) planRefund(ctx context.Context, order *transitions.Order, p payments.Payment, r shipping.Report) (payments.StepRequest, ruling, error) {
	request := payments.StepRequest{ID: refundStep(r.Parcel)}

	if begun := p.Step(request.ID); begun != nil {
		switch begun.Outcome {
		case payments.Succeeded:
			return request, accepted, nil
		// A step's answer is final. Only a step with another id can give the money back, and a person has
		// to make it.
		case payments.Failed:
			return request, attention("parcel %s came back, and the refund of %d %s under the step %s was declined (%.100s): use another step",
				r.Parcel, begun.Amount, p.Currency, request.ID, begun.Reason).with("ratchet payments get %s", p.ID), nil
		}
		request.Amount = begun.Amount // the step is pending: its repeat finishes it

		return request, ruling{}, nil
	}

	lines, err := d.linesOf(ctx, order, r)
	if err != nil {
		return request, ruling{}, err
	}

	amount, unknown := parcelAmount(order, lines)
	byHand := fmt.Sprintf("ratchet payments refund %s %s --amount ", p.ID, request.ID)

	switch rest := p.Captured - p.Refunded; {
	case unknown != "":
		return request, attention("parcel %s came back, and nothing is given back: %s", r.Parcel, unknown).with("%sAMOUNT", byHand), nil
	case amount == 0:
		return request, accepted, nil
	case p.Captured == 0 || p.Capturable > 0:
		// A refund would void the amount that can still be captured.
		return request, ruling{answer: shipping.Retry, reason: "the order's payment is not captured yet"}, nil
	case p.Captured < order.Total.Amount || p.Currency != order.Total.Currency:
		// Less was paid than the prices of the pieces, so the parcel's share is not known.
		return request, attention("parcel %s came back, and of the order's %d %s only %d %s were captured: nothing is given back",
			r.Parcel, order.Total.Amount, order.Total.Currency, p.Captured, p.Currency).with("%sAMOUNT", byHand), nil
	case amount > rest:
		return request, attention("parcel %s came back, and only %d of its %d %s can still be given back", r.Parcel, rest, amount, p.Currency).
			with("ratchet payments get %s", p.ID), nil
	case d.endedWell(order):
		// The order was completed while the report waited, or the parcel came back too late. A person
		// decides.
		return request, attention("parcel %s came back, and the order is %s", r.Parcel, order.State).with("%s%d", byHand, amount), nil
	case !d.cfg.RefundReturns:
		return request, attention("parcel %s came back, and the setting refund-returns is off", r.Parcel).with("%s%d", byHand, amount), nil
	}
	request.Amount = amount

	return request, ruling{}, nil
}

// refundRuling returns the ruling on the report after an attempt to refund its parcel.
func refundRuling(parcel, payment string, err error) (ruling, error) {
	var refusal *ledger.RefusedError

	switch {
	case err == nil:
		return accepted, nil
	// A step of the payment is pending. The next try of the report finishes it.
	case errors.Is(err, payments.ErrUnresolved) || errors.Is(err, payments.ErrBusy):
		return ruling{answer: shipping.Retry, reason: err.Error()}, nil
	case errors.Is(err, payments.ErrDeclined), errors.Is(err, payments.ErrExceeded), errors.Is(err, payments.ErrState),
		errors.Is(err, payments.ErrConflict), errors.As(err, &refusal):
		return attention("parcel %s came back, and its money cannot be given back: %v", parcel, err).with("ratchet payments get %s", payment), nil
	}

	return ruling{}, err
}

func attention(format string, args ...any) ruling {
	return ruling{answer: shipping.Retry, reason: fmt.Sprintf(format, args...)}
}

// with adds the command for a person.
func (r ruling) with(format string, args ...any) ruling {
	r.command = fmt.Sprintf(format, args...)
	return r
}

// parcelAmount returns the amount to refund for a parcel, in minor units of the order's currency, or the
// reason why it is not known:
//
//   - If the order's total is at least the sum of its lines, the amount is the sum of the prices of
//     the parcel's pieces. The money for shipping is given back with the last parcel.
//   - If the total is less, all pieces have the same discount in proportion to their price. The
//     amount is rounded down to the minor unit. The rest is given back with the last parcel.
//   - If the order has pieces of one SKU at several prices, the amount is not known, unless the parcel
//     holds all pieces of the SKU.
func parcelAmount(order *transitions.Order, lines []transitions.ParcelLine) (amount int64, unknown string) {
	if len(lines) == 0 {
		return 0, "its lines are not known"
	}

	parcel, whole := new(big.Int), new(big.Int)
	for _, item := range order.Items {
		whole.Add(whole, cost(item.Price, item.Quantity))
	}

	for _, l := range lines {
		cheapest, dearest := priceRange(order.Items, l)
		// The report names a SKU only, so it is not known which of the prices applies.
		if cheapest.Cmp(dearest) != 0 {
			return 0, fmt.Sprintf("the order has %.40s at several prices", l.SKU)
		}

		parcel.Add(parcel, cheapest)
	}

	total := big.NewInt(order.Total.Amount)
	if whole.Cmp(total) > 0 {
		// Multiplied first, in big integers: the product of two amounts may exceed 64 bits.
		parcel.Quo(parcel.Mul(parcel, total), whole)
	}

	return parcel.Int64(), "" // at most the total, because the parcels hold no more than the order's pieces
}

func cost(price, quantity int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(price), big.NewInt(quantity))
}

// priceRange returns the lowest and the highest price that the pieces of the line may have had.
func priceRange(items []transitions.Item, l transitions.ParcelLine) (cheapest, dearest *big.Int) {
	var of []transitions.Item
	for _, item := range items {
		if item.SKU == l.SKU {
			of = append(of, item)
		}
	}

	slices.SortStableFunc(of, func(a, b transitions.Item) int { return cmp.Compare(a.Price, b.Price) })
	cheapest = firstPieces(of, l.Quantity)
	slices.Reverse(of)

	return cheapest, firstPieces(of, l.Quantity)
}

// firstPieces returns the price of the first n pieces of the items.
func firstPieces(items []transitions.Item, n int64) *big.Int {
	sum := new(big.Int)
	for _, item := range items {
		pieces := min(item.Quantity, n)
		sum.Add(sum, cost(item.Price, pieces))
		n -= pieces
	}

	return sum
}
