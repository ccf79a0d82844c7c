package server

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"ratchet/api/auth"
)

// API says where the HTTP API is served, and to whom.
type API struct {
	// Listen is its HOST:PORT. Default 127.0.0.1:8701.
	Listen string `koanf:"api-listen"`
	// TLSCert and TLSKey name PEM files. Without them it speaks HTTP, for a proxy that
	// speaks TLS.
	TLSCert string `koanf:"tls-cert"`
	TLSKey  string `koanf:"tls-key"`
	// Hosts are names, beside localhost, under which a loopback address may be asked.
	Hosts []string `koanf:"api-hosts"`
	// Rate bounds each caller's requests per second. Default 200, unbounded for dev;
	// negative: unbounded.
	Rate float64 `koanf:"api-rate"`
	// WatchFor bounds one stream of events. Default 15 min.
	WatchFor time.Duration `koanf:"watch-for"`
	// Audit is where audit lines go: "log", or "file:FILE". Default: audit.jsonl in the
	// data directory of the embedded engine, the log elsewhere.
	Audit string `koanf:"audit"`
	// Issuer is an OpenID Connect issuer whose tokens are taken beside API keys; with
	// PublicKey, a PEM file, tokens of that issuer are checked with it and nobody is
	// asked. Audience must be set then, TenantClaim and ScopePrefix may be (see
	// [auth.Claims]).
	Issuer      string `koanf:"auth-issuer"`
	Audience    string `koanf:"auth-audience"`
	PublicKey   string `koanf:"auth-public-key"`
	TenantClaim string `koanf:"auth-tenant-claim"`
	ScopePrefix string `koanf:"auth-scope-prefix"`
}

// DefaultAPIListen is where the HTTP API is served unless told otherwise.
const DefaultAPIListen = "127.0.0.1:8701"

func (a API) withDefaults() API {
	if a.Listen == "" {
		a.Listen = DefaultAPIListen
	}
	a.Hosts = strings.FieldsFunc(strings.Join(a.Hosts, ","), func(r rune) bool { return r == ',' || r == ' ' }) // as the environment has them

	return a
}

func (a API) validate() error {
	kind, path, _ := strings.Cut(a.Audit, ":")
	switch {
	case (a.TLSCert == "") != (a.TLSKey == ""):
		return errors.New("tls-cert and tls-key: both or none")
	case a.Issuer == "" && (a.Audience != "" || a.PublicKey != ""):
		return errors.New("auth-issuer: must be set with auth-audience or auth-public-key")
	case a.Issuer != "" && a.Audience == "":
		return errors.New("auth-audience: must be set with auth-issuer")
	case a.WatchFor < 0:
		return errors.New("watch-for: must not be negative")
	case a.Audit != "" && a.Audit != "log" && (kind != "file" || path == ""):
		return fmt.Errorf(`audit %q: must be "log" or "file:FILE"`, a.Audit)
	}

	return nil
}

func (a API) claims() auth.Claims {
	return auth.Claims{Issuer: a.Issuer, Audience: a.Audience, TenantClaim: a.TenantClaim, ScopePrefix: a.ScopePrefix}
}
