package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/internal/clientnet"
)

// session is the content of the sealed cookie.
type session struct {
	// Key is the id of the API key, "" for a login at the provider.
	Key string `json:"key,omitempty"`
	// Issuer and ID are of a login at the provider.
	Issuer string      `json:"issuer,omitempty"`
	ID     string      `json:"id,omitempty"`
	Tenant auth.Tenant `json:"tenant"`
	Scope  auth.Scope  `json:"scope"`
	// Personal is the grant for personal data of a login at the provider. That of a key stands at the key.
	Personal bool      `json:"personal,omitempty"`
	Until    time.Time `json:"until"`
}

// WithKey begins the session of an API key.
func (l *Login) WithKey(w http.ResponseWriter, r *http.Request, key string) error {
	key = strings.TrimSpace(key)

	// Refusals of others who come through the same proxy keep out no one who has logged in before.
	if err := l.admit(r); err != nil && (!errors.Is(err, ErrTooMany) || !l.failures.knows(key)) {
		return err
	}

	p, err := l.cfg.Keys.Authenticate(r.Context(), key)

	switch {
	case errors.Is(err, auth.ErrRefused):
		l.failures.forget(key)
		return l.refused(r, errors.New("the key is not valid"))
	case err != nil:
		return fmt.Errorf("check the key of a login: %w", err)
	}

	l.failures.remember(key)

	return l.begin(w, session{
		Key:    strings.TrimPrefix(p.ID, keyPrefix),
		Tenant: p.Tenant,
		Scope:  lower(p.Scope, l.cfg.MaxScope),
		Until:  time.Now().Add(longest),
	})
}

// keyPrefix begins the id of a caller with an API key.
const keyPrefix = "key:"

// admit returns an error for a login that is not looked at.
func (l *Login) admit(r *http.Request) error {
	if err := l.checkPlain(r); err != nil {
		return err
	}

	if l.failures.exhausted(clientnet.Of(r.RemoteAddr)) {
		return ErrTooMany
	}

	return nil
}

// refused counts a refused login, and returns ErrRefused with the reason.
func (l *Login) refused(r *http.Request, why error) error {
	l.failures.charge(clientnet.Of(r.RemoteAddr))
	l.cfg.Log.WarnContext(r.Context(), "a login to the console is refused", "from", clientnet.Of(r.RemoteAddr), "reason", why)

	return fmt.Errorf("%w: %w", ErrRefused, why)
}

func (l *Login) begin(w http.ResponseWriter, s session) error {
	text, err := l.session.put(s)
	if err != nil {
		return err
	}
	setCookie(w, sessionCookie, text, s.Until)

	return nil
}

// Identify returns who looks at a page. It reports false for a stranger, and after the end of a session. If the key of
// the session cannot be read, the caller is one whose requests the API answers with 503.
func (l *Login) Identify(r *http.Request) (by api.Identity, known bool) {
	text, has := cookie(r, sessionCookie)
	if !has || l.checkPlain(r) != nil {
		return api.Identity{}, false
	}

	var s session
	if l.session.take(text, &s) != nil {
		return api.Identity{}, false
	}

	p, err := l.principal(r.Context(), s)
	if errors.Is(err, auth.ErrRefused) {
		return api.Identity{}, false
	}

	return api.Identity{
		Principal: p,
		Via:       via,
		Valid: func(ctx context.Context) error {
			_, err := l.principal(ctx, s)
			return err
		},
	}, true
}

// via names the console in the audit.
const via = "console"

// principal returns the caller of a session as it is now. It fails with auth.ErrRefused if the session has ended.
func (l *Login) principal(ctx context.Context, s session) (auth.Principal, error) {
	if !time.Now().Before(s.Until) {
		return auth.Principal{}, auth.ErrRefused
	}

	p := auth.Principal{ID: s.ID, Tenant: s.Tenant, Scope: lower(s.Scope, l.cfg.MaxScope), Personal: s.Personal}

	switch {
	case s.Key == "":
		// Another provider, or none, has other persons.
		if l.cfg.Provider == nil || l.cfg.Provider.Claims.Issuer != s.Issuer {
			return auth.Principal{}, auth.ErrRefused
		}

		return p, nil
	default:
		key, err := l.cfg.Keys.Find(ctx, s.Key)
		p.ID, p.Personal = keyPrefix+s.Key, key.Personal

		switch {
		case err != nil:
			return p, err
		case key.Tenant != s.Tenant:
			return auth.Principal{}, auth.ErrRefused
		}
		p.Scope = lower(p.Scope, key.Scope)

		return p, nil
	}
}

// lower returns the scope that includes less.
func lower(a, b auth.Scope) auth.Scope {
	if (auth.Principal{Scope: a}).May(b) {
		return b
	}

	return a
}
