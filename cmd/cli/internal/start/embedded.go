package start

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

// runEmbedded serves the embedded engine and the HTTP API and runs one worker until ctx
// ends. With the name "dev", the API does not authenticate callers.
func runEmbedded(ctx context.Context, out io.Writer, b *server.Backend, name string, asJSON bool) (err error) {
	// Both ports are taken before anything starts, so that an address in use ends the command
	// cleanly.
	engine, api, err := listeners(ctx, b)
	if err != nil {
		return err
	}

	b.ExpectWorker()

	admin, err := b.StartAdmin(ctx)
	if err != nil {
		return errors.Join(err, engine.Close(), api.Close())
	}
	defer func() { err = errors.Join(err, admin.Close()) }()

	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return b.Engine.Run(running) })
	group.Go(func() error { return b.ServeEngine(running, engine) })

	at := endpoints{engine: "http://" + engine.Addr().String(), api: apiURL(b, api), admin: admin.URL()}
	group.Go(func() error { return work(running, out, b, api, at, name, asJSON) })

	return group.Wait()
}

// listeners opens the listeners of the engine and of the HTTP API.
func listeners(ctx context.Context, b *server.Backend) (engine, api net.Listener, err error) {
	if engine, err = listen(ctx, b.Config.Listen, "--listen"); err != nil {
		return nil, nil, err
	}

	if api, err = listen(ctx, b.Config.API.Listen, "--api-listen"); err != nil {
		return nil, nil, errors.Join(err, engine.Close())
	}

	return engine, api, nil
}

// endpoints are the URLs of a process.
type endpoints struct{ engine, api, admin string }

// work creates the resources that are missing, prints the endpoints, runs one worker with
// the name and serves the HTTP API.
func work(ctx context.Context, out io.Writer, b *server.Backend, api net.Listener, at endpoints, name string, asJSON bool) error {
	arn, err := initialize(ctx, b, at)
	if err != nil {
		return errors.Join(err, api.Close())
	}
	defer os.Remove(filepath.Join(b.Config.Data, settings.EndpointFile)) //nolint:errcheck // other commands ignore a file whose URL does not answer

	if asJSON {
		err := terminal.PrintJSON(out, map[string]string{
			"endpoint":        at.engine,
			"api":             at.api,
			"admin":           at.admin,
			"stateMachineArn": arn,
			"data":            b.Config.Data,
		})
		if err != nil {
			return errors.Join(err, api.Close())
		}
	} else {
		banner(out, b, at, name, arn)
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.ServeAPI(ctx, api, name == "dev") })
	group.Go(func() error { return b.Run(ctx, name) })
	group.Go(func() error { return b.RunCarrier(ctx) })

	return group.Wait()
}

// initialize creates the resources that are missing, and the file in which other commands find the
// address of this process.
func initialize(ctx context.Context, b *server.Backend, at endpoints) (stateMachineARN string, err error) {
	if err := b.Init(ctx); err != nil {
		return "", err
	}

	if stateMachineARN, err = b.StateMachineARN(ctx); err != nil {
		return "", err
	}

	// Written last: a command that finds the address finds the tables, too.
	return stateMachineARN, os.WriteFile(filepath.Join(b.Config.Data, settings.EndpointFile), []byte(at.engine+"\n"), 0o600)
}
