package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"ratchet/server/listeners"
)

// Limits of the connections that are open at a time. An idle connection costs about 13 KB.
const (
	maxConnections = 4096
	// maxConnectionsPerClient bounds one client of the HTTP API.
	maxConnectionsPerClient = 1024
	// maxAdminConnections bounds the admin listener, which a few programs ask now and then.
	maxAdminConnections = 256
)

// engineDrain is how long calls of the engine may run on after a stop.
const engineDrain = 5 * time.Second

// ServeEngine serves the embedded engine on the listener until ctx ends, and then waits up to 5 s for calls to
// finish. It closes the listener in every case.
func (b *Backend) ServeEngine(ctx context.Context, listener net.Listener) error {
	b.warnIfOpen("the embedded engine", listener)
	b.own.add(listener.Addr())

	server := &http.Server{
		Handler:           listeners.CloseChunked(b.Engine.Handler()),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
		// A poll for tasks waits for up to a minute. It must end with the server, or Shutdown would wait for it.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}

	drained := make(chan error, 1)
	serving, stop := context.WithCancel(ctx)
	go func() {
		<-serving.Done()
		drained <- b.drain(ctx, server, engineDrain)
	}()

	// All clients of this machine have one address, so there is no limit for one.
	err := server.Serve(listeners.Limit(listener, nil, maxConnections, maxConnections))
	stop()

	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}

	return errors.Join(err, <-drained)
}

// drain stops a server whose context has ended. Requests that have begun get the time to finish. What has not ended by
// then, such as a stream of events, is cut off. That is no failure: a caller who sends half a body could cause one.
func (b *Backend) drain(ctx context.Context, server *http.Server, most time.Duration) error {
	finishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()

	err := server.Shutdown(finishing)
	if errors.Is(err, context.DeadlineExceeded) {
		b.log.Info("requests that had not ended were cut off", "after", most)

		err = nil
	}

	return errors.Join(err, server.Close())
}

// warnIfOpen says in the log that everybody may use what listens on another address than a loopback address.
func (b *Backend) warnIfOpen(what string, listener net.Listener) {
	if address, ok := listener.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		b.log.Warn("everybody who reaches this address may read and change all data, because "+what+" authenticates nobody (setting listen-remote)",
			"address", listener.Addr())
	}
}
