package steps

import (
	"context"
	"fmt"

	"ratchet/activities"
	"ratchet/transitions"
)

// checkLife fails if the execution brings on another life of the order. The execution knows its life from
// its first step on, and from its input if it was started for an order that existed; an empty life is not
// compared. Without the check, a step would act on the present life with a transitionId and a reason of
// the former one.
func checkLife(known transitions.Incarnation, order *transitions.Order) error {
	if known == "" || known == order.Incarnation {
		return nil
	}

	return activities.Fail(NameOtherLife, fmt.Errorf("the execution brings on order %s in its life %s, and the order is in its life %s", order.ID, known, order.Incarnation))
}

// applyInLife applies a request to the life of the order that it names. The write compares the life, so an
// order that was renewed or placed again since it was read is not moved.
func applyInLife(ctx context.Context, orders *transitions.Orders, r transitions.Request) (transitions.Result, error) {
	result, err := orders.Apply(ctx, r)
	if err == nil && result.Order != nil {
		err = checkLife(r.Incarnation, result.Order)
	}

	return result, err
}
