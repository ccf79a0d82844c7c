package steps

import (
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
