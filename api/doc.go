// Package api serves Ratchet over HTTP. Each route calls one method of a domain package.
//
// # Model
//
// A request passes these checks, in this order: the host and origin that it names, its
// credential, the caller's rate limit, the scope of the route, the size and strictness of
// its JSON, the limit of concurrent requests, and the schema in the OpenAPI document.
// Strangers, and bodies that are still arriving, hold no slot of the limit. Then one call of
// the domain package decides. Its verdict or error becomes a status and a stable code in
// problem+json (RFC 9457). Every request that may change something writes one line to the
// audit log.
//
// A caller sees only the tenant of its credential. [auth.DefaultTenant] stores ids as they
// are. Any other tenant stores them behind its name and a colon, and no id of the API
// contains a colon.
//
// # Guarantees
//
//   - A request that changes something and carries an Idempotency-Key, or an id of the
//     caller's in its path, takes effect at most once. For 48 hours a repeat gets the first
//     answer that was given, with Idempotent-Replayed: true. docs/guides/api.md lists the
//     exceptions.
//   - An event stream leaves out a transition only if it says so, and ends within ten
//     seconds of the end of its credential.
//   - A request has the caller that another part of the process has named with [As], or the caller of its
//     credential. Nothing of a request from the network becomes the former.
//   - A caller without the grant for personal data sees "[masked]" in place of what can hold something of a
//     person, and no request may contain that form. docs/guides/api.md has the rules.
//   - A thing of another tenant gets the same answer as a thing that does not exist.
//   - No answer repeats a value of a refused body, and no answer or log line contains a
//     task token or a credential.
//   - The size of bodies, the depth of JSON, and the numbers of concurrent requests,
//     waiting requests, open streams and remembered callers are bounded.
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
// All limits apply per process. Without Config.Lists, listing orders scans the table: that is
// meant for people, not for frequent calls. If-Match compares only the parts of the ETag with
// which the request can conflict: the incarnation, and the transitionId for a transition or the
// contentVersion for an edit.
package api
