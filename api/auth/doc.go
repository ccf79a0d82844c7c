// Package auth says who calls: it turns a bearer token into a [Principal] with a
// tenant and a scope.
//
// # Model
//
// An API key is 256 random bits, shown once when it is created. The table holds its
// SHA-256 under a public id, which is part of the key, so that a key is found by one
// read and a copy of the table opens nothing. [Keys] creates, lists, rotates and
// revokes them. [OIDC] takes tokens of an OpenID Connect issuer, [JWT] tokens signed
// with a key from a file; both read tenant and scope from claims.
//
// # Guarantees
//
//   - A key that was revoked or has expired is refused at the latest [KeysConfig].Cache
//     later, on every instance.
//   - Rotation is one transaction: the new key exists if and only if the old one has
//     been given its end.
//   - No error and no log line holds a token; a [Token] prints as its public id.
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
// The end of a key is judged by this machine's clock.
package auth
