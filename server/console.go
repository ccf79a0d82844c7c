package server

import (
	"context"
	"net/http"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/embedded/door"
)

// withConsole adds the console to the handler of the API, for everybody who can reach the listener: it must be a
// loopback address (see [api.CheckListen]). GET / leads to it.
func (b *Backend) withConsole(ctx context.Context, handler http.Handler) (http.Handler, error) {
	pages, err := console.New(console.Config{
		API:      handler,
		Identify: func(*http.Request) (api.Identity, bool) { return devIdentity, true },
		Log:      b.log,
		Draining: ctx.Done(),
	})
	if err != nil {
		return nil, err
	}
	guard := door.New(door.Config{AllowedHosts: b.Config.Network.AllowedHosts})

	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle(console.Path+"/", guard.Handler(pages))
	mux.Handle("GET "+console.Path, http.RedirectHandler(console.Path+"/", http.StatusSeeOther))
	mux.Handle("GET /{$}", http.RedirectHandler(console.Path+"/", http.StatusSeeOther))

	return mux, nil
}

// devIdentity is who looks at the console of a process that authenticates no callers.
var devIdentity = api.Identity{
	Principal: auth.Dev,
	Via:       "console",
}
