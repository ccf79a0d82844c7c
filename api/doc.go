// Package api serves Ratchet over HTTP: each route is one verb of a domain package.
//
// # Model
//
// A request passes, in this order: the host and origin it claims, the gate that sheds
// load before work, its credential, the caller's rate, the caller's scope, the bounds
// and the strictness of its JSON, the schema that the OpenAPI document shows. Then one
// call of the domain package decides, and its verdict becomes a status and a stable
// code in problem+json (RFC 9457). Every request that may change something leaves one
// line in the audit log.
//
// A caller sees the tenant of its credential and nothing else: [auth.DefaultTenant]
// uses ids as they are, any other has its name and a colon in front of every stored
// id, and no id of the API has a colon.
//
// # Guarantees
//
//   - A request that changes something and carries an Idempotency-Key (or a natural id
//     in its path) takes effect at most once; its repeat is answered alike, with
//     Idempotent-Replayed: true.
//   - What belongs to another tenant is answered as what does not exist.
//   - No value of a refused body is echoed, task tokens and credentials are in no
//     answer and no log.
//   - Bodies, JSON depth, requests at once, requests waiting, watchers and remembered
//     callers are bounded.
//
// A small program:
//
//	handler, err := api.New(api.Config{Orders: orders, ..., Auth: keys, Secret: secret})
//	...
//	server := api.Server(handler)
//	err = server.ListenAndServeTLS("cert.pem", "key.pem")
//
// # Caveats
//
// Rates and bounds hold per process. Orders are listed by a scan of the table, for
// people and not for a hot path. If-Match compares the part of the tag that a request
// can clash with: the transitionId for a transition, the contentVersion for an edit.
package api
