// Package keys builds and reads idempotency keys.
//
// # Model
//
// A key names one execution of one operation for one tenant. [Of] joins its parts so
// that different parts never make the same key: each part carries its length. What
// would not fit into a DynamoDB partition key is hashed. [Message] names a message by
// its place in a log, [Header] reads the HTTP Idempotency-Key field, and [Expiring]
// makes keys that carry their own end: name-id-base36.
//
// # Guarantees
//
// [Of] is injective, hashed or not, as far as SHA-256 is. A key that cannot be told
// from another, because it is empty or because all its parts are, is refused.
//
//	key, err := keys.Of("acme", "refund/v1", orderID, lineID)
//
// # Caveats
//
// Keys stand in the table in the clear: leave personal data out, or put in a hash of it.
package keys
