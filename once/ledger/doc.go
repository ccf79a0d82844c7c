// Package ledger keeps money by double entry: accounts, transfers between them, entries
// that never change, and holds.
//
// # Model
//
// Amounts are whole minor units of one currency (ISO 4217). Credits are positive, debits
// negative. A transfer has 2 to 24 legs, one per account, that sum to zero. It is ONE
// TransactWriteItems of the transfer's record, the balance of every account, and the next
// entry of every account. The record is the marker: it is written once under the
// transfer's id. The entries of an account are numbered from 1 without a gap, and each
// holds the balance after it. The account's condition pins the number of its last entry,
// so two transfers cannot write the same number. A hold sets a part of an account's money
// aside under an id of its own. It is settled by transfers, in whole or in parts, or
// released.
//
// # Guarantees
//
// The entries of each transfer sum to zero, and all of them are written or none.
//
// A balance is the sum of the account's entries, held money is the rest of its active holds,
// and available is the difference. An account without overdraft stays on its side: a credit
// account has 0 or more available, the balance of a debit account is 0 or less. This is true
// of every shard.
//
// There is one transfer per id. A repeat returns the original, another content under the
// id is [ErrConflict].
//
// Only its owner makes and ends the holds and transfers of an [Owned] ledger.
//
// Calls return the result or an error of this package. If txn.Retryable reports true,
// DynamoDB has not decided: repeat the call under the same id. Reads decide nothing:
// conditions pin what a call has read or remembered, and a failed condition returns the
// present item.
//
//	posted, err := l.Post(ctx, ledger.Move("t-1", "alice", "bob", 1250, "EUR"))
//	if errors.Is(err, ledger.ErrInsufficientFunds) { ... }
//
// # Hot accounts
//
// Writes to one item queue, so one account takes one transfer after the other. An account
// with Shards spreads its money over that many items. A credit goes to the shard that the
// transfer's id selects; for an owner's transfers, the part of the id before the first "/". A
// debit takes from one shard or, if that has too little, from several in the same transaction.
// The balance of the account is the sum of its shards, and its statement lists one shard after
// the other.
//
// # Caveats
//
// The tables must not be global tables: conditions hold within one Region.
//
// The money of an expired hold stays set aside until [Ledger.ReleaseExpired] runs. The
// hold can no longer be settled: each attempt of a transfer compares its end with the time of
// DynamoDB.
package ledger
