// Package refusals keeps a short log of refused requests for each order, for people who ask why
// nothing happened.
//
// # Model
//
// [Log.Note] takes a refusal in memory and returns at once; it is called after the answer is known, and
// no answer waits for it. [Log.Run] writes the noted refusals: one item for each order, with one [Entry]
// for each event and code, which counts. [Log.Of] reads the item.
//
// # Bounds
//
// The log is incomplete by design. It holds up to 1,000 different refusals in memory, writes up to 20
// of them per second and process, and the same one at most every 10 seconds; in between it counts. An
// order has at most 8 entries; others are only counted. An item is forgotten 7 days after its last
// refusal. A refusal that does not fit, or cannot be written, is dropped and counted for the log.
// A process that is killed loses the refusals that it has not written.
//
// It is no place for personal data: callers give codes, states and SKUs, never who asked.
package refusals
