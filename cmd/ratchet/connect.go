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

// endpointFile is a file in a data directory while `ratchet dev` serves the directory. It
// holds the URL of the engine.
const endpointFile = "endpoint"

// open connects to the backend that the settings name. Only one process can have a data
// directory open, so if `ratchet dev` serves it, open connects to that process.
func (s *settings) open(ctx context.Context, events server.Events) (*server.Backend, error) {
	return s.openWith(ctx, events, func(*server.Config) {})
}

// openWith is open, with changes to the settings that come from flags of one command.
func (s *settings) openWith(ctx context.Context, events server.Events, change func(*server.Config)) (*server.Backend, error) {
	cfg, log, err := s.load()
	if err != nil {
		return nil, err
	}
	change(&cfg)

	b, err := connectWithWait(ctx, cfg, log, events)
	if err != nil {
		return nil, err
	}

	if b.Engine != nil {
		// The directory may be new, and no command needs `ratchet init` before it.
		if err := b.Init(ctx); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}

	return b, nil
}

// lockWait is how long a command waits for another one that has the data directory open.
// Most commands are done in a moment.
const lockWait = 2 * time.Second

// connectWithWait is connect, tried again while another process has the directory open.
func connectWithWait(ctx context.Context, cfg server.Config, log *slog.Logger, events server.Events) (*server.Backend, error) {
	retry := time.NewTicker(lockWait / 40)
	defer retry.Stop()

	for deadline := time.Now().Add(lockWait); ; {
		b, err := connect(ctx, cfg, log, events)
		if !errors.Is(err, syscall.EAGAIN) || time.Now().After(deadline) {
			return b, err
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-retry.C:
		}
	}
}

// connect connects to what the settings name, or to the `ratchet dev` that serves the data
// directory.
func connect(ctx context.Context, cfg server.Config, log *slog.Logger, events server.Events) (*server.Backend, error) {
	if cfg.EndpointURL == "" {
		if served, ok := servedBy(ctx, cfg.Data); ok {
			cfg.EndpointURL = served
		}
	}

	return server.Connect(ctx, cfg, log, events)
}

// servedBy returns the URL of the `ratchet dev` that serves the directory, if one accepts
// connections there. It ignores the file of a killed process.
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
	return s.withEvents(ctx, server.Events{}, fn)
}

// withEvents is with, with events.
func (s *settings) withEvents(ctx context.Context, events server.Events, fn func(*server.Backend) error) error {
	b, err := s.open(ctx, events)
	if err != nil {
		return err
	}

	return errors.Join(fn(b), b.Close())
}
