package server

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"ratchet/api/auth"
)

// APIConfig says where the HTTP API is served, and to whom.
type APIConfig struct {
	// Listen is the HOST:PORT on which the API is served. Default: [DefaultAPIListen].
	Listen string `koanf:"api-listen"`
	// TLSCert and TLSKey name PEM files. Set both or none. Without them the API speaks
	// HTTP, for a proxy that terminates TLS.
	TLSCert string `koanf:"tls-cert"`
	TLSKey  string `koanf:"tls-key"`
	// Rate is the limit on one caller's requests, per second. Default: 200, and no limit under
	// `ratchet dev`. Negative: no limit.
	Rate float64 `koanf:"api-rate"`
	// TenantRate is the limit on the requests of all callers of one tenant together, per second and
	// process. Default: no limit. Negative: no limit.
	TenantRate float64 `koanf:"api-tenant-rate"`
	// TenantRates are the limits of tenants that have another one, in requests per second: TENANT=RATE,
	// separated by commas or spaces. Default: none.
	TenantRates []string `koanf:"api-tenant-rates"`
	// InFlight is how many requests are served at once, 1 to 10000. Twice as many more wait for up to
	// a second. Default: 256.
	InFlight int `koanf:"api-in-flight"`
	// Watches is how many streams of events one caller may have open, 1 to 1000. Default: 16.
	Watches int `koanf:"api-watches"`
	// WatchFor is how long one stream of events may last. Default: 15 min.
	WatchFor time.Duration `koanf:"watch-for"`
	// Audit is where audit lines go: "log" or "file:FILE". Default: audit.jsonl in the
	// data directory of the embedded engine, else "log".
	Audit string `koanf:"audit"`
	// Issuer is an OpenID Connect issuer whose tokens the API accepts in addition to API
	// keys. It needs Audience, which the tokens must name. Empty: no tokens.
	Issuer   string `koanf:"auth-issuer"`
	Audience string `koanf:"auth-audience"`
	// PublicKey is the name of a PEM file with the key that tokens are checked with. Empty: the
	// issuer's keys are fetched.
	PublicKey string `koanf:"auth-public-key"`
	// TenantClaim is the claim of a token that holds the tenant. Default: "tenant".
	TenantClaim string `koanf:"auth-tenant-claim"`
	// ScopeClaim is the claim of a token that holds the scopes. Default: "scope", or "scp" in a token without
	// that.
	ScopeClaim string `koanf:"auth-scope-claim"`
	// ScopePrefix precedes the scopes of this API among the token's scopes. Default: "ratchet:".
	ScopePrefix string `koanf:"auth-scope-prefix"`
}

// DefaultAPIListen is where the HTTP API is served by default.
const DefaultAPIListen = "127.0.0.1:8701"

func (c APIConfig) withDefaults() APIConfig {
	if c.Listen == "" {
		c.Listen = DefaultAPIListen
	}

	c.TenantRates = splitList(c.TenantRates)

	return c
}

// validate reports every field that breaks a rule.
func (c APIConfig) validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}

	require((c.TLSCert == "") == (c.TLSKey == ""), "tls-cert and tls-key: both or none")
	require(c.Issuer != "" || (c.Audience == "" && c.PublicKey == ""), "auth-issuer: must be set with auth-audience or auth-public-key")
	require(c.Issuer == "" || c.Audience != "", "auth-audience: must be set with auth-issuer")
	require(c.InFlight >= 0 && c.InFlight <= 10_000, "api-in-flight %d: 1 to 10000", c.InFlight)
	require(c.Watches >= 0 && c.Watches <= 1000, "api-watches %d: 1 to 1000", c.Watches)
	require(c.WatchFor >= 0, "watch-for %s: must not be negative", c.WatchFor)

	kind, path, _ := strings.Cut(c.Audit, ":")
	isFile := kind == "file" && path != ""
	require(c.Audit == "" || c.Audit == "log" || isFile, `audit %q: must be "log" or "file:FILE"`, withoutUser(c.Audit))

	_, err := c.tenantRates()

	return errors.Join(append(faults, err)...)
}

// tenantRates returns TenantRates by tenant.
func (c APIConfig) tenantRates() (map[string]float64, error) {
	rates := map[string]float64{}

	for _, pair := range c.TenantRates {
		tenant, text, _ := strings.Cut(pair, "=")

		limit, err := strconv.ParseFloat(text, 64)
		if tenant == "" || err != nil || limit == 0 || math.IsNaN(limit) {
			return nil, fmt.Errorf("api-tenant-rates %q: must be TENANT=RATE, with a rate that is not 0", withoutUser(pair))
		}
		rates[tenant] = limit
	}

	return rates, nil
}

func (c APIConfig) claims() auth.Claims {
	return auth.Claims{
		Issuer:      c.Issuer,
		Audience:    c.Audience,
		TenantClaim: c.TenantClaim,
		ScopeClaim:  c.ScopeClaim,
		ScopePrefix: c.ScopePrefix,
	}
}
