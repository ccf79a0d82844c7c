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
// until the attempts or the context end. The SDK's own retries are switched off, because they
// report only the error of their last attempt.
//
// Once an attempt had no answer, only evidence ends the call: a success, or a failed condition
// with the marker evaluated. Any other error that follows (refused credentials, a conflict, the
// end of the context) is tried again until the attempts end, and the answer is then [ErrUnknown].
//
// A part that compares an end, such as the end of a reservation, compares it with a time that is
// read for each attempt: see [Transaction.EachAttempt].
//
// A transaction that DynamoDB would always reject (no part, more than 100, more than
// 4 MB, one item twice) returns [ErrInvalid] and is not sent. An update that makes its item larger than
// 400 KB can only be refused by DynamoDB: the error is an [ItemSizeError].
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
// A transaction without a marker is protected by its token alone, for ten minutes. All attempts
// of a call have the same token and body. The call ends with ErrUnknown if an attempt had no answer
// and the token may be forgotten.
//
// A body that contains the current time differs between two calls of Write. The token
// then protects the attempts within one call, the marker everything else.
//
// A caller that must know whether it made the transaction itself puts a random id of the
// call into the marker and compares it with the id in Old. With EachAttempt, also an earlier
// attempt of the same call is recognized by this id alone.
//
// Conditions and tokens hold within one Region: with global tables, all writes of a
// transaction need one home Region.
package txn
