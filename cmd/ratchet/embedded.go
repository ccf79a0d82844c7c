package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/server"
)

// runEmbedded serves the engine and the HTTP API, and works, until ctx ends. As "dev"
// the API asks nobody who they are.
func runEmbedded(ctx context.Context, out io.Writer, b *server.Backend, name string, asJSON bool) error {
	engine, api, err := listeners(ctx, b)
	if err != nil {
		return err
	}
	group, running := errgroup.WithContext(ctx)
	web := &http.Server{Handler: b.Engine.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		// A poll for tasks waits up to a minute; it ends when the server does.
		BaseContext: func(net.Listener) context.Context { return running }}
	group.Go(func() error { return b.Engine.Run(running) })
	group.Go(func() error {
		if err := web.Serve(engine); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-running.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(running), 5*time.Second)
		defer cancel()
		return errors.Join(web.Shutdown(drain), web.Close())
	})
	place := place{engine: "http://" + engine.Addr().String(), api: apiURL(b, api), name: name}
	group.Go(func() error { return work(running, out, b, api, place, asJSON) })

	return group.Wait()
}

func listeners(ctx context.Context, b *server.Backend) (engine, api net.Listener, err error) {
	if engine, err = listen(ctx, b.Config.Listen); err != nil {
		return nil, nil, err
	}

	if api, err = listen(ctx, b.Config.API.Listen); err != nil {
		return nil, nil, errors.Join(err, engine.Close())
	}

	return engine, api, nil
}

// place is where a process is reached. Its name is the command's.
type place struct{ engine, api, name string }

// work creates what is missing, says where to find it, runs one worker and serves the
// HTTP API.
func work(ctx context.Context, out io.Writer, b *server.Backend, api net.Listener, at place, asJSON bool) error {
	arn, err := begin(ctx, b, at)
	if err != nil {
		return errors.Join(err, api.Close())
	}
	defer os.Remove(filepath.Join(b.Config.Data, endpointFile)) //nolint:errcheck // a file left behind is recognised by nobody answering

	if asJSON {
		if err := printJSON(out, map[string]string{"endpoint": at.engine, "api": at.api, "stateMachineArn": arn, "data": b.Config.Data}); err != nil {
			return errors.Join(err, api.Close())
		}
	} else {
		banner(out, b, at, arn)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.ServeAPI(ctx, api, at.name == "dev") })
	group.Go(func() error { return b.Run(ctx, at.name) })
	group.Go(func() error { return b.Carrier.Run(ctx) })

	return group.Wait()
}

// begin creates what is missing and leaves the mark by which other commands find this
// process.
func begin(ctx context.Context, b *server.Backend, at place) (stateMachineARN string, err error) {
	if err := b.Init(ctx); err != nil {
		return "", err
	}

	if stateMachineARN, err = b.StateMachineARN(ctx); err != nil {
		return "", err
	}

	return stateMachineARN, os.WriteFile(filepath.Join(b.Config.Data, endpointFile), []byte(at.engine+"\n"), 0o600)
}
