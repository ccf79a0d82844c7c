// Package webhooks signs, verifies and delivers webhooks after Standard Webhooks
// (https://www.standardwebhooks.com).
//
// # Model
//
// A message has an id, the time of its delivery and a body. [Keys] signs "id.timestamp.body" with
// HMAC-SHA256 under each of its secrets, so that a receiver that knows one of them accepts the
// message during a change of secrets. The receiver verifies the raw bytes before it parses them,
// and drops a repeated id. [Client] delivers: it signs each attempt with the present time, checks
// the address that it dials, and follows no redirect.
//
// # Guarantees
//
//   - A message is accepted only with a signature of one of the secrets over this id,
//     time and body, within [Config.Tolerance] of now. All signatures are compared, each
//     in constant time.
//   - Headers are limited before any work: 10 signatures, 4 KiB, one value per name.
//   - A delivery connects to public addresses only, unless [Reach] says otherwise. The address is
//     checked when it is dialed, after the name was resolved.
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
// Within the tolerance an attacker can send a verified message again, so the receiver must
// remember its ID. Only symmetric signatures (v1) are made and read. Others, like ed25519
// (v1a), are ignored.
package webhooks
