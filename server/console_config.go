package server

import (
	"errors"
	"fmt"
	"slices"

	"ratchet/api/auth"
	"ratchet/console/session"
)

// ConsoleConfig says who may log in to the console of an API with authentication.
type ConsoleConfig struct {
	// Console is "on" or "off": whether `ratchet serve` has the console, for callers who log in with an API key, or
	// at the issuer if ClientID is set. Default: "on".
	Console string `koanf:"console"`
	// Address is where browsers reach the console behind a proxy that speaks TLS: https://HOST[:PORT]. Or
	// http://127.0.0.1:PORT: a container's port on the browser's machine. Empty: logins over TLS, or from this machine, only.
	Address string `koanf:"console-url"`
	// ClientID is the console's client at the issuer of APIConfig.Issuer, with the redirect address
	// https://HOST/console/login/callback. Empty: no login there.
	ClientID string `koanf:"console-client-id"`
	// ClientSecret is the secret of ClientID. Empty for a public client. It is never printed.
	ClientSecret Secret `koanf:"console-client-secret"`
	// Scopes are asked for at the issuer, beside openid, separated by commas or spaces. Default: none.
	Scopes []string `koanf:"console-scopes"`
	// ClaimsToken says which token of a login has tenant and scopes: "access", the one that the API accepts, or
	// "id". Default: "access".
	ClaimsToken string `koanf:"console-claims-token"`
	// MaxScope is the highest scope of a login to the console: "read", "act" or "admin". Default: "read".
	MaxScope string `koanf:"console-max-scope"`
	// Secret seals the cookies of logins: texts of at least 32 characters, separated by spaces. The first one seals,
	// all open. Empty: a random one that the processes share in the table of API keys. It is never printed.
	Secret Secret `koanf:"console-secret"`
}

// The values of [ConsoleConfig.Console] and [ConsoleConfig.ClaimsToken].
const (
	consoleOn   = "on"
	consoleOff  = "off"
	claimsOfID  = "id"
	claimsOfAPI = "access"
)

func (c ConsoleConfig) withDefaults() ConsoleConfig {
	if c.Console == "" {
		c.Console = consoleOn
	}

	if c.ClaimsToken == "" {
		c.ClaimsToken = claimsOfAPI
	}

	if c.MaxScope == "" {
		c.MaxScope = string(auth.Read)
	}
	c.Scopes = splitList(c.Scopes)

	return c
}

func (c ConsoleConfig) validate(issuer string) error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}

	require(slices.Contains([]string{"", consoleOn, consoleOff}, c.Console), `console %q: must be "on" or "off"`, withoutUser(c.Console))
	require(slices.Contains([]string{"", claimsOfID, claimsOfAPI}, c.ClaimsToken), `console-claims-token %q: must be "access" or "id"`, withoutUser(c.ClaimsToken))
	require(c.MaxScope == "" || auth.Scope(c.MaxScope).Valid(), "console-max-scope %q: read, act or admin", withoutUser(c.MaxScope))
	require(c.ClientID == "" || issuer != "", "console-client-id: must be set with auth-issuer")
	require(c.ClientID != "" || c.ClientSecret == "" && len(c.Scopes) == 0, "console-client-id: must be set with console-client-secret and console-scopes")

	require(c.Address == "" || session.ValidURL(c.Address), "console-url %q: must be https://HOST[:PORT], or http of a loopback address", withoutUser(c.Address))

	for _, secret := range c.secrets() {
		require(len(secret) >= 32, "console-secret: each secret needs at least 32 characters")
	}

	return errors.Join(faults...)
}

func (c ConsoleConfig) secrets() (secrets [][]byte) {
	for _, text := range splitList([]string{c.Secret.Reveal()}) {
		secrets = append(secrets, []byte(text))
	}

	return secrets
}
