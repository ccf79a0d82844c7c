// Package keys builds and reads idempotency keys.
//
// # Model
//
// A key names one execution of one operation for one tenant. [Of] joins its parts so that
// different parts never make the same key: each part follows its length. A key that is too
// long for a DynamoDB partition key is hashed. [Message] names a message by its place in a
// log, [Header] reads the HTTP Idempotency-Key field, and [Expiring] makes keys that
// contain their own end: name-id-base36.
//
// # Guarantees
//
// [Of] is injective, except for collisions of SHA-256. It refuses an empty key and a key
// whose parts are all empty, because every call without parts would get the same key.
//
//	key, err := keys.Of("acme", "refund/v1", orderID, lineID)
//
// # Caveats
//
// The table contains keys in plain text. Leave personal data out, or use a hash of it.
package keys
