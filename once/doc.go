// Package once makes work happen once in effect. A caller claims a key, works, and stores
// the result. Every other caller with the key gets that result.
//
// # Model
//
// A claim is one DynamoDB item under an idempotency key. To claim a free key takes one
// conditional update. If the key is not free, the failed condition returns the record, and
// the record decides, without a read: replay the result or the final failure, refuse
// another payload, wait for a running lease, or take over a claim that was released or
// whose lease ran out. The takeover is a second update, conditional on the fence that was
// seen. Every step of a holder (extend, complete, fail, unknown, release) is conditional on
// owner and fence.
//
// There are three places to record that something was done:
//
//	Do                 a record of its own      2 writes    any work; result up to 4 MiB
//	DoInItem           a mark in the item       1 write     one update of one item
//	DoInTransaction    a record in the          2 units     up to 99 writes, all or none
//	                   transaction              per item
//
// [Claims.DoRepeatable] stores the result of work whose far side acts once per key, after
// the work: 1 read and 1 write. It keeps no other caller out.
//
// [Locks] are keys that are acquired once and never released: one write.
//
// # Guarantees
//
//   - A key has one holder at a time. The times that are stored and compared are the service's,
//     from the Date of its answers, so the clocks of machines may be wrong by hours. An endpoint
//     that states no time is different: there, clocks must not differ from its clock by more than 1 s.
//   - A key has one recorded result. A former holder cannot complete its claim, overwrite the
//     result or restore a deleted record.
//   - The winner learns that it won, also if the answer was lost.
//   - Fences always grow, also past the deletion of a record.
//   - Another payload is refused whatever the status.
//   - A completed key keeps its result for the retention. TTL only deletes what has
//     expired.
//   - Work that was done is not repeated, even if its result is missing.
//   - Work that may have begun is not forgotten: the next caller is [TakenOver], or the outcome is
//     unknown. [Claims.Do] lists what ends in which.
//   - A write without an answer is never reported as not made; see [ErrUnanswered].
//
// docs/reference/crashes.md lists what each mode allows when a process dies. A test checks that list.
//
//	result, replayed, err := claims.Do(ctx, key, payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
//		return nil, sink.Send(ctx, n)
//	})
//
// # Caveats
//
// Work that reaches the far side and then dies, or loses its lease, runs a second time
// after the takeover. Give the far side the key, ask it when [Claim.Outcome] is
// [TakenOver], or set [Config.ExpiredIsUnknown] and let a reconciler decide. A key belongs
// to one operation and one mode. Conditions hold within one Region.
package once
