package transitions

import (
	"slices"
	"strings"
)

// The request ids with which executions and the stream's reactions move an order, once each. They
// tell who has moved it: an order that was paid under [PaidRequest] has its payment and its pieces.
// The texts are stored, as digests, and never change.
const (
	// PaidRequest pays an order after its execution has reserved its pieces and paid for it.
	PaidRequest RequestID = "payment/paid"
	// DeclinedRequest cancels an order whose payment was declined.
	DeclinedRequest RequestID = "payment/declined"
	// OutOfStockRequest cancels an order whose pieces cannot be reserved.
	OutOfStockRequest RequestID = "accept/out-of-stock"
	// ReturnedRequest refunds an order that came back.
	ReturnedRequest RequestID = "refund/returned"
	// CarrierRequests begins the ids of the carrier's reports.
	CarrierRequests = "carrier/"
)

// PaidByExecution reports whether one of the transitions is the payment of an execution.
func PaidByExecution(made []Transition) bool {
	return slices.ContainsFunc(made, func(t Transition) bool { return t.IsBy(PaidRequest) })
}

// IsReserved reports whether only executions, reactions and the carrier's reports may use the id.
// An entry point for other callers refuses requests with such an id.
func (id RequestID) IsReserved() bool {
	switch id {
	case PaidRequest, DeclinedRequest, OutOfStockRequest, ReturnedRequest:
		return true
	}

	return strings.HasPrefix(string(id), CarrierRequests)
}
