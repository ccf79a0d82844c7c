// Package lanes runs handlers: in order for each item, in parallel across items. A lane is the queue of one
// item's records for one handler; it exists only while it has records, and runs one record at a time. A
// [Scheduler] has the lanes of all shards of a worker, with places for calls that handlers share; a [Shard]
// has those of one shard, and a [Window] knows which of its records are finished: the checkpoint is the last
// one before the oldest unfinished record.
//
// A record that fails for long moves to the retry queue, and so do the later ones of its item, and the
// surplus of a handler that is slower than the others. A handler that fails for every item is probed with one
// call at a time ([Circuit]). A record that may have ended a worker is tried alone in its process ([Gate]).
package lanes
