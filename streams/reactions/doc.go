// Package reactions is what follows when an order has moved: the journal is written,
// shipping starts, customers are told, waiting executions go on.
//
// # Model
//
// [Reactions.Handlers] are handlers for the streams poller. Each reads a record with
// [transitions.FromRecord]: what counts is the two images and their transitionId,
// never the event name. An effect has the key orderId/transitionId/handler and is
// claimed under it (package once), so that duplicates, replays and two pollers
// produce it once. Nothing here calls back into transitions.Apply: what comes of a
// shipment returns from the outside.
//
// # Guarantees
//
// Per order, reactions run in transitionId order, at least once each; an effect
// whose far side honours the key happens once. [Log] honours no key: a line may
// appear twice after a crash.
package reactions
