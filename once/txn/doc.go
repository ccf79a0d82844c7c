// Package txn builds one TransactWriteItems call from named parts and reports which
// part failed.
//
// # Model
//
// A [Transaction] is a list of writes and checks, each with a name. At most one part is
// the marker: the record that says that this transaction was made before. A [Writer]
// sends the transaction until DynamoDB has decided and reads the cancellation reasons by
// position. Write returns nil, or a [CanceledError] with the name of the failed part, the error
// that the part was given, and the item that failed its condition. A failed marker
// outranks every other failed condition: if the transaction was made before, it does not
// matter that the account has too little money now.
//
// # Guarantees
//
// All parts are written or none.
//
// A failed condition is reported only if DynamoDB also evaluated the marker. While the
// marker conflicts with another transaction, the writer retries. The same holds for every
// part added by AddDecisive.
//
// Conflicts and throttling, which the SDK leaves to its caller, are retried with jitter
// until the attempts or the context end.
//
// A transaction that DynamoDB would always reject (no part, more than 100, more than
// 4 MB, one item twice) returns [ErrInvalid] and is not sent.
//
// A request whose token may be sent again has one canonical body: equal transactions
// are equal bytes. The SDK writes maps in random order, and some endpoints compare bodies
// literally. The token is derived from a key and a fence; DynamoDB remembers it for ten
// minutes, the marker lasts as long as its item. If a token was used with another body,
// the writer replaces the token and lets the marker decide.
//
//	var t txn.Transaction
//	t.Marker("transfer", types.TransactWriteItem{Put: record})
//	t.Add("source", types.TransactWriteItem{Update: debit}, txn.FailWith(ErrInsufficientFunds))
//	t.Add("destination", types.TransactWriteItem{Update: credit}, txn.FailWith(ErrUnknownAccount))
//	t.Token(transferID, 1)
//
//	err := writer.Write(ctx, &t)
//	if r := (*txn.CanceledError)(nil); errors.As(err, &r) && r.Marker {
//		return replay(r.Old)
//	}
//	return err // nil, or errors.Is(err, ErrInsufficientFunds), ...
//
// # Caveats
//
// A transaction without a marker is protected by its token alone, for ten minutes.
//
// A body that contains the current time differs between two calls of Write. The token
// then protects the attempts within one call, the marker everything else.
//
// A caller that must know whether it made the transaction itself puts a random id of the
// call into the marker and compares it with the id in Old.
//
// Conditions and tokens hold within one Region: with global tables, all writes of a
// transaction need one home Region.
package txn
