// Package retryqueue keeps the records that wait for another attempt: those of a handler that fails, is
// paused or is slower than the others, and those that are delivered again on request. [Table] has the rows;
// package redelivery delivers them. [Queue] is for operators and tools: it redrives dead letters and pauses
// handlers. [Items] lists what waits.
//
// Each record that waits has one row in the dead-letter table, under source "retries/<table>/<handler>", or under
// "retries+<n>/<table>/<handler>" if the first key is full and its row "item/!spread" says so, and the id
// "item/<hash of the item's key>/<kind><sequence number>". The kind is a for a record that is delivered again and
// b for one of the stream, so an item's rows are in the order of their delivery. While an item has rows, newer
// records of it get rows, too.
//
//	format              of the row: 1. A row with a higher number is refused by name
//	keys, record        the item's key, and the record: gzipped JSON
//	parts               the number of rows "part/…#<n>" that have the record instead, if it is too large.
//	                    They are written and removed in one transaction with their row
//	expireAt            14 days, which the queue's worker moves in time
//	token               of the write that has stored the row
//	epoch               of the shard's lease under which the record was put here, or found
//	holder              epoch of the queue's lease whose owner has begun with the row
//	letter              id of the dead letter to redrive, in place of a record
//	attempts            number of failed calls
//	since, error        the time of the first of them (ms), the error of the last
//	nextTry             when the record is due (ms)
//	tries, triedBy      after deaths of the queue's workers: number of calls that did not return, and
//	                    the worker that has begun the last of them
//	unsure              a try to store the row had no answer and may still arrive
//	done                such a row after it was handled, empty: for an hour
package retryqueue
