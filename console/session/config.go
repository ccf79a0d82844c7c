package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"ratchet/api/auth"
)

const (
	// longest is how long a session lasts at most.
	longest = 8 * time.Hour
	// loginFor is how long a person has to log in at the provider.
	loginFor = 10 * time.Minute
)

var (
	// ErrRefused says that the login is not accepted. The text, which says why, is for the log.
	ErrRefused = errors.New("the login is refused")
	// ErrTooMany says that too many logins of the client's network were refused.
	ErrTooMany = errors.New("too many logins were refused: wait a minute")
	// ErrPlain says that the request came over plain HTTP from another machine, which could be read on its way.
	ErrPlain = errors.New("a login needs HTTPS: set tls-cert, or console-url to the https address of the proxy in front")
)

// keys are the API keys of the installation.
type keys interface {
	auth.Authenticator
	// Find returns the principal of a key as it is now. It fails with auth.ErrRefused if the key has ended.
	Find(ctx context.Context, id string) (auth.Principal, error)
}

// Config configures New.
type Config struct {
	// Keys are the API keys that can log in. Required.
	Keys keys
	// Secrets are what the keys of cookies are derived from: the first one seals, all open. Each has at least 32
	// bytes. All processes behind one address need the same. At least one is required.
	Secrets [][]byte
	// MaxScope is the highest scope that a session has. Required.
	MaxScope auth.Scope
	// URL is where browsers reach the console; see [ValidURL]. Empty: where the request says, which must
	// have come over TLS or from this machine.
	URL string
	// Provider is where persons log in. Nil: keys only.
	Provider *Provider
	Log      *slog.Logger
}

func (c Config) validate() error {
	var errs []error
	require := func(ok bool, field, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("session: Config.%s: %s", field, rule))
		}
	}

	require(c.Keys != nil, "Keys", "must not be nil")
	require(len(c.Secrets) > 0, "Secrets", "must not be empty")
	require(c.MaxScope.Valid(), "MaxScope", "read, act or admin")
	require(c.Log != nil, "Log", "must not be nil")

	for _, secret := range c.Secrets {
		require(len(secret) >= 32, "Secrets", "at least 32 bytes each")
	}

	if c.URL != "" {
		require(ValidURL(c.URL), "URL", "must be https://HOST[:PORT], or http of a loopback address")
	}

	return errors.Join(errs...)
}

// Login logs persons in and recognizes them. It is safe for concurrent use.
type Login struct {
	cfg            Config
	host           string // of Config.URL, "" without one
	session, begun *seal
	failures       *attempts

	mu   sync.Mutex
	used map[string]time.Time // states of logins that have ended here, with the end of their cookies
}

// New checks cfg.
func New(cfg Config) (*Login, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	session, err := newSeal(sessionCookie, cfg.Secrets)
	if err != nil {
		return nil, err
	}

	begun, err := newSeal(loginCookie, cfg.Secrets)
	if err != nil {
		return nil, err
	}

	l := &Login{cfg: cfg, session: session, begun: begun, failures: newAttempts(), used: map[string]time.Time{}}
	if u, err := url.Parse(cfg.URL); err == nil {
		l.host = u.Host
	}

	return l, nil
}

// HasProvider reports whether persons can log in at a provider.
func (l *Login) HasProvider() bool { return l.cfg.Provider != nil }

// Forget ends the session in the browser.
func (l *Login) Forget(w http.ResponseWriter) { clearCookie(w, sessionCookie) }

// ValidURL reports whether browsers may reach the console at the address: https://HOST[:PORT], or http of a loopback
// address, as of a container whose port is published on the browser's machine.
func ValidURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Path != "" || u.User != nil || u.RawQuery != "" {
		return false
	}

	ip := net.ParseIP(u.Hostname())

	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
