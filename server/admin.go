package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/door"
	"ratchet/server/listeners"
)

// DefaultAdminListen is the default address for health and metrics. If the address is in use, a free
// port is selected, because several workers may run on one machine.
const DefaultAdminListen = "127.0.0.1:8702"

// The paths of the two probes.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

// AdminOff is the value of [Config.AdminListen] for no listener.
const AdminOff = "off"

// Admin serves health and metrics of a process. A nil Admin serves nothing: its methods
// work and do nothing.
type Admin struct {
	url     string
	server  *http.Server
	serving errgroup.Group
}

// StartAdmin serves /livez, /readyz and /metrics on [Config.AdminListen] until Close. On a loopback
// address it also serves profiles under /debug/pprof/. Web pages of another origin get nothing. After the end of ctx the process is not ready.
// StartAdmin returns nil if the setting is "off".
func (b *Backend) StartAdmin(ctx context.Context) (*Admin, error) {
	if b.Config.AdminListen == AdminOff {
		return nil, nil
	}

	listener, err := listenAdmin(ctx, b.Config.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("admin-listen: %w", err)
	}

	b.own.add(listener.Addr())

	// The listener's address and not the setting, which may be a host name or empty.
	address, _ := listener.Addr().(*net.TCPAddr)
	loopback := address != nil && address.IP.IsLoopback()

	guard := door.New(door.Config{AllowedHosts: b.Config.Network.AllowedHosts, Probes: []string{livePath, readyPath}})
	a := &Admin{
		url: "http://" + listener.Addr().String(),
		server: &http.Server{
			Handler:           listeners.CloseChunked(guard.Handler(b.adminHandler(ctx, loopback))),
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       15 * time.Second,
			WriteTimeout:      2 * time.Minute, // a profile takes 30 s
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
			ErrorLog:          slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
		},
	}
	a.serving.Go(func() error {
		return a.server.Serve(listeners.Limit(listener, nil, maxAdminConnections, maxAdminConnections))
	})

	return a, nil
}

// listenAdmin listens on the address. If the address is empty, it listens on DefaultAdminListen, or on
// a free port if that is in use.
func listenAdmin(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	if address != "" {
		return config.Listen(ctx, "tcp", address)
	}

	listener, err := config.Listen(ctx, "tcp", DefaultAdminListen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return config.Listen(ctx, "tcp", "127.0.0.1:0")
	}

	return listener, err
}

// URL is the base URL of the served paths. It is empty for a nil Admin.
func (a *Admin) URL() string {
	if a == nil {
		return ""
	}

	return a.url
}

// Close stops serving at once.
func (a *Admin) Close() error {
	if a == nil {
		return nil
	}

	err := a.server.Close()
	if served := a.serving.Wait(); !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}

	return err
}

// adminHandler serves health, metrics and, on a loopback address, profiles.
func (b *Backend) adminHandler(stopping context.Context, loopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+livePath, func(w http.ResponseWriter, _ *http.Request) {
		answerHealth(w, Health{Ready: true, Checks: []HealthCheck{ok("process")}})
	})
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, r *http.Request) {
		// Not ready as soon as the process stops, so that a load balancer sends no more work to it.
		health := b.Health(r.Context())
		if stopping.Err() != nil {
			health.Ready = false
			health.Checks = append(health.Checks, failed("process", "the process stops and finishes its work in hand", "nothing: it ends soon"))
		}
		answerHealth(w, health)
	})
	mux.Handle("GET /metrics", b.Telemetry.Handler())

	if !loopback {
		return mux
	}

	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)

	return mux
}

// answerHealth answers 200, or 503 if the process is not ready.
func answerHealth(w http.ResponseWriter, health Health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")

	if !health.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}

	_ = json.NewEncoder(w).Encode(health) // fails only if the client is gone
}

// isAdminListen checks the form of the setting. An empty value is valid and means the default.
func isAdminListen(address string) bool {
	_, _, err := net.SplitHostPort(address)
	return address == "" || address == AdminOff || err == nil
}
