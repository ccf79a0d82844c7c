package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ratchet/server"
)

// endpointFile lies in a data directory while `ratchet dev` serves it, and holds the
// URL under which it does.
const endpointFile = "endpoint"

// open connects to the backend that the settings name. A data directory that
// `ratchet dev` serves is reached through it: only one process may have it open.
func (s *settings) open(ctx context.Context, hooks server.Events) (*server.Backend, error) {
	return s.openWith(ctx, hooks, func(*server.Config) {})
}

// openWith is open with settings that a command has flags of its own for.
func (s *settings) openWith(ctx context.Context, hooks server.Events, change func(*server.Config)) (*server.Backend, error) {
	cfg, log, err := s.load()
	if err != nil {
		return nil, err
	}
	change(&cfg)

	b, err := connectInTurn(ctx, cfg, log, hooks)
	if err != nil {
		return nil, err
	}

	if b.Engine != nil {
		// The directory may be new: one command must be enough to begin.
		if err := b.Init(ctx); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}

	return b, nil
}

// turn is how long a command waits for another one that has the directory open and
// will be done in a moment.
const turn = 2 * time.Second

func connectInTurn(ctx context.Context, cfg server.Config, log *slog.Logger, hooks server.Events) (*server.Backend, error) {
	again := time.NewTicker(turn / 40)
	defer again.Stop()

	for until := time.Now().Add(turn); ; {
		b, err := connect(ctx, cfg, log, hooks)
		if !errors.Is(err, syscall.EAGAIN) || time.Now().After(until) {
			return b, err
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}

// connect connects to what the settings name, or to the `ratchet dev` that serves it.
func connect(ctx context.Context, cfg server.Config, log *slog.Logger, hooks server.Events) (*server.Backend, error) {
	if cfg.EndpointURL == "" {
		if served, ok := servedBy(ctx, cfg.Data); ok {
			cfg.EndpointURL = served
		}
	}

	return server.Connect(ctx, cfg, log, hooks)
}

// servedBy returns the URL of the `ratchet dev` that serves the directory, if one
// answers there. A file left behind by a killed process is ignored.
func servedBy(ctx context.Context, data string) (string, bool) {
	text, err := os.ReadFile(filepath.Join(data, endpointFile))
	if err != nil {
		return "", false
	}
	served := strings.TrimSpace(string(text))

	u, err := url.Parse(served)
	if err != nil {
		return "", false
	}

	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return "", false
	}

	return served, conn.Close() == nil
}

// with runs fn on the backend and closes it afterwards.
func (s *settings) with(ctx context.Context, fn func(*server.Backend) error) error {
	return s.hooked(ctx, server.Events{}, fn)
}

// hooked is with, with hooks.
func (s *settings) hooked(ctx context.Context, hooks server.Events, fn func(*server.Backend) error) error {
	b, err := s.open(ctx, hooks)
	if err != nil {
		return err
	}

	return errors.Join(fn(b), b.Close())
}
