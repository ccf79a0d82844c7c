// Package ledger keeps money by double entry: accounts, transfers between them,
// entries that never change, and holds.
//
// # Model
//
// Amounts are whole minor units of one currency (ISO 4217), credits positive and
// debits negative. A transfer has two or more legs, one per account, that sum to zero.
// It is ONE TransactWriteItems of the transfer's record, every account's balance and
// every account's next entry: the record is the marker, written once under the
// transfer's id. The entries of an account are numbered from 1 without a gap, and each
// holds the balance after it; the account's condition pins the number, so the chain
// cannot fork. A hold sets a part of an account's money aside under an id of its own;
// it is settled by a transfer, in whole or in parts, or released.
//
// # Guarantees
//
// The entries of each transfer sum to zero, so all entries do, at every moment. An
// account without overdraft never has less than nothing available. One transfer per
// id: a repeat returns the original, another content under the id is [ErrConflict].
// Holds and transfers of an [Owned] ledger are made and ended by their owner only.
// What comes back is the transfer or one of the errors of this package; when DynamoDB
// has not decided, txn.Retryable is true and a repeat tells. No read decides: what
// was read or remembered is pinned by the conditions, and a failed one brings the item.
//
//	posted, err := l.Post(ctx, ledger.Move("t-1", "alice", "bob", 1250, "EUR"))
//	if errors.Is(err, ledger.ErrInsufficientFunds) { ... }
//
// # Hot accounts
//
// Writes to one item queue: one account takes as many transfers per second as one
// after the other takes. An account with Shards spreads its money over that many
// items: credits go to the shard that the transfer's id picks, a debit takes from one
// shard and, when that has too little, from several in the same transaction. The
// account's balance is their sum, and its statement lists shard by shard.
//
// # Caveats
//
// Tables must not be global ones: conditions hold within one Region. An expired hold keeps its money aside until
// [Ledger.ReleaseExpired] runs; it can no longer be settled.
package ledger
