// Package reactions does what follows when an order has moved: it writes the journal,
// requests the shipment, notifies customers, and answers waiting executions.
//
// # Model
//
// [Reactions.Handlers] are handlers for the streams poller. Each decodes a record with
// transitions.FromRecord: the two images and their transitionId count, never the event
// name. An effect has the key orderId/transitionId/handler and is claimed under it (package
// once), so duplicates, replays and two pollers run it once at a time and reuse its stored
// result. No reaction calls transitions.Apply: a shipment, for example, returns as a request
// from outside.
//
// # Guarantees
//
// Per order, reactions run in the order of the transitionIds, at least once each. An effect
// happens once if its far side acts once per key. notify.Log and notify.File do not: a line
// may appear twice after a crash.
package reactions
