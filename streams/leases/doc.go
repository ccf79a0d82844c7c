// Package leases stores who works on what. A lease is a row of the lease table; its writes are conditional on
// owner, epoch and counter, so that a worker that was paused writes nothing after another has taken the
// lease. Package holders decides about leases and keeps them.
//
// # The lease table
//
// The key is stream and shardId. The leases of a stream are under its ARN. The other
// attributes of a lease are:
//
//	parent                  the parent shard
//	parentDone              this shard does not have to wait for its parent
//	parentLost              the parent was trimmed before it was read
//	owner                   the worker that holds the lease; absent if it is free
//	epoch                   incremented by every new owner, above the parent's epoch; starts
//	                        at the Unix time, so that it grows even if the row is deleted
//	                        and created again
//	counter                 incremented by every write of the owner
//	duration                how long the owner's leases last without a sign of life (ms); other
//	                        workers may be configured otherwise
//	checkpoint, handledAt   the last finished record, and when it was created (ms)
//	startAt                 where to begin without a checkpoint (ms); absent: oldest record
//	atHorizon               if set, records that were trimmed before listedAt are no gap
//	listedAt                when reading the stream began, or when the shard was created if
//	                        that was later (ms)
//	wanted                  the worker that has asked the owner to hand over the lease
//	finishedAt              when the shard was handled to its end (ms); the lease is then
//	                        kept for 26 hours as a tombstone
//	gaps                    how often records were trimmed unread
//	gapFrom, gapAt          of the newest gap: the last record before it, and when it was
//	                        noticed (ms)
//	deaths, deathsAt        how many owners in a row have ended without giving the lease
//	                        back, and the checkpoint at which this was
//	tryingTo                after such deaths: the last record of the batch that is tried
//	trying                  the record of the batch that is tried alone
//	tries                   how many calls for trying did not return, by handler
//	takes                   the newest ten owners: epoch, and the checkpoint at which each began
//
// A tombstone moves to the key "<ARN>#finished" when no child waits for it, so that
// finished shards cost nothing to watch. A lease is stored in a transaction which checks
// that its shard has no tombstone.
//
// Under "workers/<ARN>" each worker has a row, with its name as the sort key:
//
//	counter                 incremented by every heartbeat, three times per LeaseDuration
//	changes                 incremented after a change of leases that other workers must see
//	state                   "stopping", or "left" when the worker holds no lease any more
//	duration                as in a lease
//
// Heartbeats of this row keep a worker's leases: an idle lease is not written. The alternatives
// cost more. To renew each lease takes a write for each shard; BatchWriteItem has no
// conditions, so a worker that was paused would renew leases that it has lost; a transaction
// has them and costs double. A heartbeat needs no condition, because it does not fence
// anything: every write of a lease is still conditional on owner, epoch and counter. The
// comment of type holders.Liveness has the proof that a worker has stopped when others take its
// leases.
//
// Under "retries/<table>" there is a lease for each handler, whose holder delivers the records of
// the handler's retry queue. These leases are renewed one by one. Attribute pausedAt says since
// when the handler is paused (ms). The row "#additions" under the same key has a counter and
// markedAt. The counter grows when records were put into a queue by a process that is not the
// worker of their shard. markedAt says when a Rebuild last moved marks (ms).
//
// The row "#stream" of each stream says how and when reading it began, and has the number of
// listings (listings). The row "#current" under "table/<name>"
// holds the ARN of the stream that is being read, so that a stream that was disabled and enabled
// again is read to its end before the stream that replaced it.
//
// All names under which rows are stored have the prefix "group/<group>/" if the poller
// has a group; the group "" has none. The rows under "groups/<ARN>" say when each group
// was last seen.
package leases
