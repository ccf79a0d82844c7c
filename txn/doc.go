// Package txn composes one TransactWriteItems from named parts and tells which part
// refused it.
//
// # Model
//
// A [Transaction] is a list of writes and checks, each under a name. At most one of
// them is the marker: the record that this very transaction has been made before. A
// [Writer] sends the transaction until DynamoDB has decided and reads the reasons of a
// cancellation by position: what comes back is nil, or a [Refused] that names the
// part, the error that the part gives itself, and the item that made its condition
// fail. A marker outranks every other refusal: of a transaction that was made before,
// nobody needs to know that the account has too little now.
//
// # Guarantees
//
// All parts are written or none. A refusal is believed only when the marker has
// spoken: while the marker is in conflict with another transaction, the others are
// not heard. Conflicts and throttling, which the SDK leaves to its callers, are tried
// again with jitter until the attempts or the context end. What DynamoDB would never
// take (no part, more than 100, more than 4 MB, one item twice, a token that is too
// long) is [ErrInvalid] before anything is sent.
//
// A request whose token may come again is written in one canonical form, so that equal
// transactions are equal bytes: the SDK writes maps in random order, and endpoints that
// compare bodies literally take a repeat for another request. The token is derived from
// a key and a fence and lasts ten minutes; the marker is what lasts. A token that was
// used by another body is given up, and the marker decides.
//
//	var t txn.Transaction
//	t.Marker("transfer", types.TransactWriteItem{Put: record})
//	t.Add("source", types.TransactWriteItem{Update: debit}, txn.Says(ErrInsufficientFunds))
//	t.Add("destination", types.TransactWriteItem{Update: credit}, txn.Says(ErrUnknownAccount))
//	t.Token(transferID, 1)
//	err := writer.Write(ctx, &t)
//	if r := (*txn.Refused)(nil); errors.As(err, &r) && r.Marker {
//		return replay(r.Old)
//	}
//	return err // nil, or errors.Is(err, ErrInsufficientFunds), ...
//
// # Caveats
//
// A transaction without a marker is protected by its token only, for ten minutes. A
// body that holds a fresh time stamp differs from try to try: the token then protects
// one call of Write, and the marker everything else. Who must know whether it was
// itself that wrote puts an id of the call into the marker and compares it in Old.
// Conditions and tokens hold within one Region: a global table needs a home Region
// for everything that a transaction writes.
package txn
