// Package retryqueue keeps the records that wait for another attempt: those of a handler that fails, is
// paused or is slower than the others, and those that are delivered again on request. [Table] has the rows;
// the workers of poller deliver them. [Queue] is for operators and tools: it redrives dead letters and pauses
// handlers. [Items] lists what waits.
//
// # The retry queue
//
// It consists of rows of the dead-letter table under source "retries/<table>/<handler>".
// An item that waits has one row, whose id is "item/" and a hash of its key:
//
//	format                  of the row: 1. A row with a higher number is refused by name
//	keys                    the item's key
//	records                 its records, oldest first: sequence number, parts, and the epoch of
//	                        the shard's lease under which the record was put here
//	partsEnd                the earliest end of the records' parts (ms)
//	holder                  epoch of the queue's lease whose owner has begun with the row
//	last                    sequence number of the newest one, with leading zeros
//	attempts                number of failed calls for the oldest record
//	since, error            the time of the first of these calls (ms), the error of the last
//	nextTry                 when the oldest record is due (ms)
//	tries, triedBy          after deaths of the queue's workers: number of calls for the
//	                        oldest record that did not return, and the worker that has
//	                        begun the last of them
//	replays                 records to deliver again, before records; an element may have
//	                        the id of a dead letter to redrive
//	replayAttempts,         as attempts, since, tries and triedBy, for the first of replays
//	replaySince,
//	replayTries,
//	replayTriedBy
//	addition                token of the newest addition to replays
//	more                    how many newer records have rows of their own
//
// The records themselves are in rows "record/<hash>/<sequence>#<token>-<n>", each with the item's key
// (keys) and an end (expireAt) from its first write on: 14 days, which the queue's worker moves in time
// while the record waits. A crash may leave such rows without an item's row. An item's row refers to
// up to 100 records. Each further one has a row "more/<hash>/<sequence>", whose attribute records is
// the reference, until it moves into the item's row.
package retryqueue
