// Package auth authenticates callers of the HTTP API: it turns a bearer token into a
// [Principal] with a tenant and a scope.
//
// # Model
//
// An API key is 256 random bits, shown once when the key is created. The table stores the
// SHA-256 of these bits under a public id. The id is part of the key, so one read finds the
// record, and a copy of the table authenticates no one. [Keys] creates, lists, rotates and
// revokes API keys. [OIDC] accepts tokens of an OpenID Connect issuer, and [JWT] accepts
// tokens that are checked with a public key from a file. Both read tenant and scope from
// the token's claims.
//
// # Guarantees
//
//   - Every instance refuses a key at most 5 s after it was revoked, and immediately once it
//     has expired.
//   - A rotation is one transaction: the new key exists if and only if the old one has
//     received its end.
//   - No error and no log line contains a token. A [Token] prints as its public id.
//
// A small program:
//
//	keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: client, Table: "ratchet-api-keys"})
//	...
//	key, token, err := keys.Create(ctx, auth.NewKey{Name: "shop", Tenant: "acme", Scope: auth.Act})
//	...
//	principal, err := keys.Authenticate(ctx, string(token))
//
// # Caveats
//
// The local clock decides whether a key has expired.
package auth
