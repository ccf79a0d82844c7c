// Package webhooks signs, verifies and delivers webhooks after Standard Webhooks
// (https://www.standardwebhooks.com).
//
// # Model
//
// A message has an id, the moment of sending and a body. [Keys] signs
// "id.timestamp.body" with HMAC-SHA256 under each of its secrets, so that a receiver
// accepts it before, during and after a change of secrets. The receiver verifies
// the raw bytes, before anything parses them, and drops a repeated id. [Client]
// delivers: it signs each try afresh, checks the address that is really dialled, and
// follows no redirect.
//
// # Guarantees
//
//   - A message is accepted only with a signature of one of the secrets, made over
//     this id, this time and these bytes, within [Config.Tolerance] of now. All
//     signatures are compared, each in constant time.
//   - Headers are bounded before any work: [MaxSignatures] signatures, 4 KiB, one
//     value per name.
//   - A delivery connects to public addresses only (unless [Reach] says otherwise),
//     whatever the name resolved to a moment before: the dialled address decides.
//
// A receiver:
//
//	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
//	...
//	message, err := keys.Read(r, 256<<10)
//	if err != nil {
//		http.Error(w, "not signed by us", http.StatusUnauthorized)
//		return
//	}
//	handleOnce(message.ID, message.Body)
//
// # Caveats
//
// A verified message can be sent again within the tolerance: whoever handles it
// remembers its ID. Only symmetric signatures (v1) are made and read; others, like
// ed25519 (v1a), are passed over.
package webhooks
