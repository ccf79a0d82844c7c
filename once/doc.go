// Package once makes work happen once in effect: a caller claims a key, works, and
// stores the result; everybody else who brings the key gets that result.
//
// # Model
//
// A claim is one DynamoDB item under an idempotency key. Claiming is one conditional
// update that succeeds when the key is free. When it is not, the image that the failed
// condition returns tells what to do, without a read: replay the result or the final
// failure, refuse another payload, wait for a live lease, or take over a claim that
// was released, or whose lease ran out, by a second update that pins the fence that
// was seen. Every step of a holder (extend, complete, fail, leave unknown, release) is
// conditional on owner and fence.
//
// There are three places to record that something was done, behind one shape of call:
//
//	Do                 a record of its own      2 writes    any work; result up to 4 MiB
//	DoInItem           a mark in the item       1 write     one update of one item
//	DoInTransaction    a record in the          2 units     up to 99 writes, all or none
//	                   transaction              per item
//
// [Locks] are keys that are taken once and never given back: one write.
//
// # Guarantees
//
// One holder at a time, as long as no caller's clock is further off the service's than
// [Config.Margin]; who is seen to be further off is refused. One recorded result: a
// former holder can neither complete nor overwrite, nor bring a deleted record back.
// The winner learns that it won, also when the answer was lost. Fences grow for ever,
// also past the deletion of a record. Another payload is refused whatever the status.
// A completed key keeps its result for the retention; expiry (TTL) only cleans up.
// Work that was done is not repeated for want of its result. The table of what each
// mode allows when a process dies is in docs/patterns/claims.md, and is a test.
//
//	result, replayed, err := claims.Do(ctx, key, payload, func(ctx context.Context, c *once.Claim) ([]byte, error) {
//		return nil, sink.Send(ctx, n)
//	})
//
// # Caveats
//
// Work that reaches the outside and then dies, or loses its lease, runs a second time
// after the takeover: give the outside the key, ask it when [Claim.Outcome] is
// [TakenOver], or set [Config.ExpiredIsUnknown] and let a reconciler decide. A key
// belongs to one operation and one mode. Conditions hold within one Region.
package once
