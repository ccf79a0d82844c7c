// Package replay delivers changes to handlers again. [Replay] reads the records that the stream still has;
// [Rebuild] makes records from what the items of the table can still prove, after a gap or for a new handler.
// Both put the records into the retry queues, where the workers deliver them.
package replay
