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
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/once"
	"ratchet/operate/executions"
	"ratchet/server/listeners"
	"ratchet/transitions"
)

// auditFile is the name of the default file for audit lines in a data directory.
const auditFile = "audit.jsonl"

// apiDrain is how long requests may run on after a stop.
const apiDrain = 10 * time.Second

// ServeAPI serves the HTTP API on the listener until ctx ends, and then waits up to 10 s for requests
// to finish. It closes the listener in every case. With dev, callers are not authenticated, and the
// listener's address must be a loopback address.
func (b *Backend) ServeAPI(ctx context.Context, listener net.Listener, dev bool) (err error) {
	// The listener's address is checked and not the setting: a host name in the setting may stand for
	// any address.
	if err := api.CheckListen(listener.Addr().String(), dev && !b.Config.Network.ListenRemote); err != nil {
		return errors.Join(err, listener.Close())
	}

	if err := errors.Join(b.flow.fit(), b.checkSides()); err != nil {
		return errors.Join(err, listener.Close())
	}

	end := b.beginParts(ctx, "api", partAPI)
	defer func() { end(err) }()

	audit, err := b.openAudit()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, audit.Close()) }()

	handler, err := b.APIHandler(ctx, dev, audit)
	if err != nil {
		return errors.Join(err, listener.Close())
	}

	if dev || b.Config.Console.Console == consoleOn {
		if handler, err = b.withConsole(ctx, handler, dev); err != nil {
			return errors.Join(err, listener.Close())
		}
	}

	proxies, err := b.Config.Network.proxies()
	if err != nil {
		return errors.Join(err, listener.Close())
	}

	b.own.add(listener.Addr())
	b.own.serveStrangers(!dev)

	if dev {
		b.warnIfOpen("the HTTP API", listener)
	}

	listener = listeners.Limit(listener, proxies, maxConnections, maxConnectionsPerClient)
	server := api.Server(listeners.CloseChunked(proxies.Handler(handler)))
	// The context of a request does not end with ctx, so that requests can finish in the drain below.
	server.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	// The server logs faults of single connections. Clients cause most of them, so the level is debug.
	server.ErrorLog = slog.NewLogLogger(b.log.Handler(), slog.LevelDebug)

	drained := make(chan error, 4)
	serving, stop := context.WithCancel(ctx)
	go func() {
		if b.Engine == nil { // a process with the engine also runs a worker, which compares
			b.compareMachine(serving)
		}
		drained <- b.Refusals.Run(serving)
	}()
	go func() { drained <- b.runIssuer(serving) }()
	go func() { drained <- b.Questions.Run(serving) }()
	go func() {
		<-serving.Done()
		drained <- b.drain(ctx, server, apiDrain)
	}()

	if cfg := b.Config.API; cfg.TLSCert != "" {
		err = server.ServeTLS(listener, cfg.TLSCert, cfg.TLSKey)
	} else {
		err = server.Serve(listener)
	}
	// Serve returns as soon as Shutdown begins. The goroutines report when the drain is over.
	stop()

	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}

	return errors.Join(err, <-drained, <-drained, <-drained, <-drained)
}

// APIHandler returns the handler of the HTTP API, which [Backend.ServeAPI] serves. With dev, callers are
// not authenticated. The handler writes one line to audit for each request that may change data.
// Streams of events end with ctx.
func (b *Backend) APIHandler(ctx context.Context, dev bool, audit io.Writer) (http.Handler, error) {
	// The secret is stored, so that all API servers of the backend accept each other's cursors.
	secret, err := b.APIKeys.Secret(ctx, "cursor")
	if err != nil {
		return nil, err
	}

	tenantRates, err := b.Config.API.tenantRates()
	if err != nil {
		return nil, err
	}

	eraser, err := b.Eraser()
	if err != nil {
		return nil, err
	}

	cfg := api.Config{
		Eraser:      eraser,
		Jobs:        b.Jobs,
		Questions:   b.Questions,
		Orders:      b.Orders,
		Scheduled:   b.Scheduled,
		Lists:       b.Lists,
		Stock:       b.Stock,
		Actions:     b.Actions,
		Ledger:      b.Ledger,
		Payments:    b.Payments,
		Claims:      once.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Once},
		Locks:       b.Locks,
		Parked:      b.ParkedTasks,
		Completer:   b.Completer,
		Reports:     b.Reports,
		Handlers:    b.Handlers(),
		Acts:        b.Audit,
		Stream:      b.StreamInspector().Status,
		Status:      b.Status,
		LastHour:    b.LastHour,
		Quotas:      b.quotas(),
		Around:      b.Around(),
		DueBefore:   b.DueBefore,
		Behind:      func() time.Duration { return b.lateness.age(time.Now()) },
		Executions:  b.Executions,
		Processes:   b.Processes,
		Machine:     b.flow.machine,
		BookAgain:   b.BookAgain,
		Replay:      b.replayOrder,
		Start:       b.startPlaced,
		AddReserved: b.AddItems,
		DeadLetters: b.DeadLetters(),
		RetryQueue:  b.RetryQueue(),
		Endpoints:   b.Endpoints,
		Deliveries:  b.Deliveries,
		Ready:       b.checkServing,
		Draining:    ctx.Done(),
		Dev:         dev,
		Secret:      secret,

		AllowedHosts: b.Config.Network.AllowedHosts,

		Rate:        b.Config.API.Rate,
		TenantRate:  b.Config.API.TenantRate,
		TenantRates: tenantRates,
		InFlight:    b.Config.API.InFlight,
		WatchFor:    b.Config.API.WatchFor,
		Watches:     b.Config.API.Watches,
		Audit:       slog.NewJSONHandler(audit, nil),
		Served:      b.Tracing.Served(b.Telemetry.Served),
		Log:         b.log,
	}

	switch {
	case !dev:
		if cfg.Auth, err = b.authenticator(); err != nil {
			return nil, err
		}
	case cfg.Rate == 0:
		cfg.Rate = -1 // no limit
	}

	handler, err := api.New(cfg)
	// Without a bank, a step of a payment would be stored and stay pending.
	if err == nil && b.CheckBank() != nil {
		handler = refusePayments(handler)
	}

	if err != nil {
		return nil, err
	}

	return b.Tracing.TraceHTTP(handler), nil
}

// authenticator returns the check of callers: by API keys and, if an issuer is configured, also by the
// issuer's tokens.
func (b *Backend) authenticator() (auth.Authenticator, error) {
	if b.Config.API.Issuer == "" {
		return b.APIKeys, nil
	}

	tokens, err := b.tokens()
	if err != nil {
		return nil, err
	}

	return auth.Any{b.APIKeys, tokens}, nil
}

// tokens returns the check of the issuer's tokens.
func (b *Backend) tokens() (auth.Authenticator, error) {
	cfg := b.Config.API
	if cfg.PublicKey != "" {
		key, err := os.ReadFile(cfg.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("auth-public-key: %w", err)
		}

		return auth.NewJWT(auth.JWTConfig{Claims: cfg.claims(), PublicKey: key})
	}

	// The console and the API ask the issuer together.
	if known := b.health.issuer.Load(); known != nil {
		return known, nil
	}

	tokens, err := auth.NewOIDC(cfg.claims())
	if err != nil {
		return nil, err
	}
	b.health.issuer.Store(tokens)

	return tokens, nil
}

// runIssuer asks the issuer of tokens for its configuration until it answers.
func (b *Backend) runIssuer(ctx context.Context) error {
	issuer := b.health.issuer.Load()
	if issuer == nil {
		return nil
	}

	return issuer.Run(ctx)
}

// startPlaced starts the execution of an order that was placed.
func (b *Backend) startPlaced(ctx context.Context, order transitions.NewOrder) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}

	_, err = b.Start(ctx, arn, order)
	if failed, is := errors.AsType[*executions.FailedError](err); is {
		// The order is placed, which is all that the caller asked for. Its execution needs a person.
		b.log.WarnContext(ctx, "the execution of a placed order has failed", "order", order.ID, "error", failed)
		return nil
	}

	return err
}

// checkServing fails while requests cannot be served: the disk of the embedded engine is full, or the orders' table cannot be
// read.
func (b *Backend) checkServing(ctx context.Context) error {
	if b.Engine != nil {
		if err := b.Engine.HasRoom(); err != nil {
			return err
		}
	}

	return b.checkReady(ctx)
}

// checkReady reads from the orders' table. Whether the order exists does not matter.
func (b *Backend) checkReady(ctx context.Context) error {
	_, _, err := b.Orders.Get(ctx, "ready")
	return err
}

// openAudit opens the target of audit lines. Each line is written at once, without a buffer, so a
// killed process loses no line that was written.
func (b *Backend) openAudit() (io.WriteCloser, error) {
	target := b.Config.API.Audit
	if target == "" && b.Engine != nil {
		target = "file:" + filepath.Join(b.Config.Data, auditFile)
	}

	_, path, toFile := strings.Cut(target, "file:")
	if !toFile {
		return nopCloser{os.Stderr}, nil
	}

	return openAuditFile(path, maxAuditFile)
}

// nopCloser is stderr as an io.WriteCloser. Close does not close it, because other parts write to it.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
