// Package reactions does what follows when an order has moved: it writes the journal, books
// the shipment, commits the stock, captures the payment, notifies customers, and answers
// waiting executions.
//
// # Model
//
// [Reactions.Handlers] are handlers for the streams poller. Each decodes a record with
// transitions.Mapping.FromRecord, which uses the two images and their transitionId, not the event name. An
// effect has the key orderId/incarnation/transitionId/handler, with /group-NAME behind it if the poller has a
// group. Only refund and parcels move an order. The result of every other reaction comes back as a
// request from outside: the carrier, for example, reports that an order was shipped.
//
//	journal   every transition
//	shipping  PAYMENT_RECEIVED: books the shipment under a claim (package once). For an old
//	          record the order is read first: an order that has ended is not booked, and a
//	          held order is booked when its hold ends.
//	stock     SHIPPED: commits the order's reservation
//	payment   SHIPPED: captures the authorized amount
//	notify    the states in Config.Notified, and of other changes those that an endpoint
//	          names: stores a delivery for every endpoint that wants the notification;
//	          package notify makes the attempts
//	parked    changes that can end a wait: records the change beside the parked task, and
//	          answers the task (package tasktoken)
//	refund    RETURNED, with Config.RefundReturns: gives the money back and moves the order
//	          to REFUNDED
//	parcels   SHIPPED, with Config.Parcels: moves an order that was shipped in parcels to the
//	          state of its parcels
//
// # Guarantees
//
// Per order, reactions run in the order of the transitionIds, at least once each. An effect happens
// once if its far side acts once per key. The destinations log and file do not: a line may appear
// twice after a crash.
//
// A reaction that no retry can complete becomes a dead letter with its cause, and a person decides:
// for example, a capture that is declined after the parcel has left.
package reactions
