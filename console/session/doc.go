// Package session knows who looks at the console of `ratchet serve`: with an API key, or with a login at an OpenID Connect
// provider.
//
// # Model
//
// A login ends in a session: who, which tenant, which scope, until when. The browser keeps it in a cookie that is
// sealed with AES-GCM under a key which all processes derive from the same secret, so no table has sessions, and no
// cookie can be made or changed outside. The cookie has the id of the key, never the key. [Login.Identify] turns
// it into the caller of [api.As]. Nothing but the console reads the cookie, so the API's routes have no requests that a
// browser authenticates by itself.
//
// # Guarantees
//
//   - A session has at most the scope that Config.MaxScope, the key and the token allow, and lasts at most 8 hours and at
//     most as long as its key or token.
//   - Every process refuses the session of a key at most 5 s after the key was revoked.
//   - A login at the provider counts once, in the browser that began it, within 10 minutes: state, nonce and the
//     verifier of PKCE are in a cookie of their own.
//   - Cookies go over TLS, or to a loopback address. Other logins are refused with [ErrPlain].
//   - After a login, the browser goes to a page of the console and nowhere else.
//
// # Caveats
//
// The provider is not asked again: a person who is removed there stays logged in until the token ends, at most 8 hours.
// A logout removes the cookie from the browser; a copy of it stays valid until then.
package session
