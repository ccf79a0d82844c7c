package model

import (
	"slices"
	"strings"

	"ratchet/transitions"
)

// The programs go around what is known to be wrong. Each function is to be removed with its defect.

// hasEarlyName reports whether a clock that was behind has named a life of the order. The newest life of an
// order that is gone is the one whose name sorts last, so [transitions.Orders.Restore] brings an earlier one back.
func hasEarlyName(order *transitions.Order) bool {
	return !slices.IsSortedFunc(order.LifeIDs(), func(a, b string) int { return strings.Compare(b, a) })
}

// hasEarlierLife reports whether the order was renewed. If a gap of its journal ends before that,
// [transitions.Orders.CloseJournal] writes the row under the present life, where no reader looks for it.
func hasEarlierLife(order *transitions.Order) bool { return len(order.LifeIDs()) > 1 }
