package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/once"
	"ratchet/streams"
	"ratchet/transitions"
)

// drainFor is how long requests may go on after a stop.
const drainFor = 10 * time.Second

// ServeAPI serves the HTTP API on the listener until ctx ends, then lets requests
// finish and closes the listener. With dev, everybody who reaches it is let in.
func (b *Backend) ServeAPI(ctx context.Context, listener net.Listener, dev bool) (err error) {
	if err := api.CheckListen(listener.Addr().String(), dev); err != nil {
		return errors.Join(err, listener.Close())
	}

	audit, err := b.audit()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, audit.Close()) }()

	handler, err := b.API(ctx, dev, audit)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	listener = bound(listener, mostConnections, mostFromOneAddress)
	server := api.Server(handler)
	server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	server.ErrorLog = slog.NewLogLogger(b.log.Handler(), slog.LevelDebug) // of connections, mostly the clients' doing
	drained := make(chan error, 1)
	stopped, stop := context.WithCancel(ctx)
	go func() {
		<-stopped.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
		defer cancel()
		drained <- errors.Join(server.Shutdown(drain), server.Close())
	}()

	if cfg := b.Config.API; cfg.TLSCert != "" {
		err = server.ServeTLS(listener, cfg.TLSCert, cfg.TLSKey)
	} else {
		err = server.Serve(listener)
	}
	stop()

	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}

	return errors.Join(err, <-drained)
}

// API builds the HTTP API's handler over the backend's parts; ServeAPI serves it. With
// dev, everybody who reaches it is let in. One line per request that may change something
// goes to audit. Streams of events end with ctx.
func (b *Backend) API(ctx context.Context, dev bool, audit io.Writer) (http.Handler, error) {
	secret, err := b.Keys.Secret(ctx, "cursor")
	if err != nil {
		return nil, err
	}

	cfg := api.Config{Orders: b.Orders, Stock: b.Stock, Actions: b.Actions, Ledger: b.Ledger, Payments: b.Payments,
		Claims: once.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Once}, Locks: b.Locks, Parked: b.Parked, SFN: b.SFN, Handlers: b.Handlers(), Start: b.starter(), AddReserved: b.AddItems,
		DeadLetters: streams.DeadLetters{DynamoDB: b.DynamoDB, Table: b.Tables.DeadLetters}, Ready: b.ready, Draining: ctx.Done(),
		Dev: dev, Secret: secret, Hosts: b.Config.API.Hosts, Rate: b.Config.API.Rate, WatchFor: b.Config.API.WatchFor,
		Audit: slog.NewJSONHandler(audit, nil), Log: b.log}
	switch {
	case !dev:
		if cfg.Auth, err = b.authenticator(ctx); err != nil {
			return nil, err
		}
	case cfg.Rate == 0:
		cfg.Rate = -1
	}

	return api.New(cfg)
}

// authenticator takes API keys, and tokens of the issuer where one is configured.
func (b *Backend) authenticator(ctx context.Context) (auth.Authenticator, error) {
	cfg := b.Config.API
	switch {
	case cfg.Issuer == "":
		return b.Keys, nil
	case cfg.PublicKey != "":
		key, err := os.ReadFile(cfg.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("auth-public-key: %w", err)
		}
		tokens, err := auth.NewJWT(auth.JWTConfig{Claims: cfg.claims(), PublicKey: key})

		return auth.Any{b.Keys, tokens}, err
	}
	tokens, err := auth.NewOIDC(ctx, auth.OIDCConfig{Claims: cfg.claims()})

	return auth.Any{b.Keys, tokens}, err
}

// starter starts executions; the state machine is looked up once.
func (b *Backend) starter() func(context.Context, transitions.NewOrder) error {
	var mu sync.Mutex
	var machine string

	return func(ctx context.Context, order transitions.NewOrder) error {
		mu.Lock()
		arn := machine
		mu.Unlock()

		if arn == "" {
			found, err := b.StateMachineARN(ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			machine, arn = found, found
			mu.Unlock()
		}
		_, err := b.Start(ctx, arn, order)

		return err
	}
}

// ready asks the orders' table anything.
func (b *Backend) ready(ctx context.Context) error {
	_, _, err := b.Orders.Get(ctx, "ready")
	return err
}

// audit opens what Config.API.Audit names. Each line is one write, so that a killed
// process has lost none that it answered after.
func (b *Backend) audit() (io.WriteCloser, error) {
	where := b.Config.API.Audit
	if where == "" && b.Engine != nil {
		where = "file:" + filepath.Join(b.Config.Data, "audit.jsonl")
	}

	_, path, toFile := strings.Cut(where, "file:")
	if !toFile {
		return unclosed{os.Stderr}, nil
	}

	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}

	return file, nil
}

// unclosed is a stream of the process, which others use, too.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
