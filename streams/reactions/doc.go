// Package reactions does what follows when an order has moved: it writes the journal, books
// the shipment, commits the stock, captures the payment, notifies customers, and answers
// waiting executions.
//
// # Model
//
// [Reactions.Handlers] are handlers for the streams poller. Each decodes a record with
// transitions.FromRecord: the two images and their transitionId count, never the event
// name. An effect has the key orderId/incarnation/transitionId/handler, with /group-NAME behind it
// if the poller has a group. No reaction calls
// transitions.Apply: a shipment, for example, returns as a request from outside.
//
//	journal   every transition
//	shipping  PAYMENT_RECEIVED: books under a claim (package once). A record that is not
//	          fresh asks for the order as it is now: an ended order is not booked, a held
//	          one when it is released.
//	stock     SHIPPED: commits the order's reservation
//	payment   SHIPPED: captures the authorized amount
//	notify    states that customers are told of: stores a delivery for every endpoint that
//	          wants it (package notify), which then makes the attempts
//	parked    changes that can end a wait: records them beside the parked task, and answers
//	          it (package tasktoken)
//
// # Guarantees
//
// Per order, reactions run in the order of the transitionIds, at least once each. An effect
// happens once if its far side acts once per key. The destinations log and file do not: a line
// may appear twice after a crash.
//
// A reaction that no retry can complete becomes a dead letter with its cause, for a person to decide: a
// capture that is declined after the parcel left, stock that was given back before.
package reactions
