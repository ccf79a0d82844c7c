package server

import (
	"context"
	"fmt"
	"net/http"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/console/session"
	"ratchet/embedded/door"
)

// withConsole adds the console to the handler of the API. GET / leads to it. With dev, everybody who can reach the
// listener may use it: that must be a loopback address (see [api.CheckListen]).
func (b *Backend) withConsole(ctx context.Context, handler http.Handler, dev bool) (http.Handler, error) {
	cfg := console.Config{
		API:      handler,
		Identify: func(*http.Request) (api.Identity, bool) { return devIdentity, true },
		Sample:   dev,
		Log:      b.log,
		Draining: ctx.Done(),
	}

	if !dev {
		login, err := b.consoleLogin(ctx)
		if err != nil {
			return nil, err
		}
		cfg.Identify, cfg.Login = login.Identify, login
	}

	pages, err := console.New(cfg)
	if err != nil {
		return nil, err
	}
	guard := door.New(door.Config{AllowedHosts: b.Config.Network.AllowedHosts})

	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle(console.Path+"/", guard.Handler(pages))
	mux.Handle("GET "+session.CallbackPath, fromProvider(guard, pages))
	mux.Handle("GET "+console.Path, http.RedirectHandler(console.Path+"/", http.StatusSeeOther))
	mux.Handle("GET /{$}", http.RedirectHandler(console.Path+"/", http.StatusSeeOther))

	return mux, nil
}

// fromProvider serves the one page to which a page of another origin leads: the provider sends the browser there. The
// state of the login says whether this browser has begun it. The host is checked as for all pages.
func fromProvider(guard *door.Door, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := guard.Check(withoutOrigin(r)); err != nil {
			http.Error(w, err.Error(), door.Status(err))
			return
		}

		pages.ServeHTTP(w, r)
	})
}

func withoutOrigin(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Sec-Fetch-Site")
	r.Header.Del("Origin")

	return r
}

// consoleSecret is the name of the secret that processes share to seal the cookies of the console.
const consoleSecret = "console"

// consoleLogin returns the login to the console.
func (b *Backend) consoleLogin(ctx context.Context) (*session.Login, error) {
	cfg, secrets := b.Config.Console, b.Config.Console.secrets()

	if len(secrets) == 0 {
		shared, err := b.APIKeys.Secret(ctx, consoleSecret)
		if err != nil {
			return nil, fmt.Errorf("the secret of the console's cookies: %w", err)
		}
		secrets = [][]byte{shared}
	}

	into := session.Config{Keys: b.APIKeys, Secrets: secrets, MaxScope: auth.Scope(cfg.MaxScope), URL: cfg.Address, Log: b.log}

	if cfg.ClientID != "" {
		into.Provider = &session.Provider{Claims: b.Config.API.claims(), ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret.Reveal(), Scopes: cfg.Scopes}

		if cfg.ClaimsToken == claimsOfAPI {
			tokens, err := b.tokens()
			if err != nil {
				return nil, err
			}
			into.Provider.Access = tokens
		}
	}

	return session.New(into)
}

// devIdentity is who looks at the console of a process that authenticates no callers.
var devIdentity = api.Identity{
	Principal: auth.Dev,
	Via:       "console",
}
