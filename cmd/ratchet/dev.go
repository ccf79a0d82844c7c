package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/api"
	"ratchet/server"
)

func devCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "dev", Short: "Run everything here: engine, workers, stream poller, sandbox carrier, HTTP API",
		Long: "Runs the embedded engine over --data, serves it on --listen for the AWS CLI, any SDK and\n" +
			"other ratchet commands, serves the HTTP API on --api-listen to everybody on this machine,\n" +
			"and works on it until interrupted. Data stays in --data.",
		Args: cobra.NoArgs,
	}
	c.Flags().String("listen", server.DefaultListen, "HOST:PORT on loopback; port 0 takes a free one")
	c.Flags().String("api-listen", server.DefaultAPIListen, "HOST:PORT of the HTTP API on loopback; a free port when only --listen is given")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, log, err := s.load()
		if err != nil {
			return err
		}

		if err := listenFlags(c, &cfg); err != nil {
			return err
		}

		if c.Flags().Changed("listen") && cfg.API.Listen == server.DefaultAPIListen && !c.Flags().Changed("api-listen") {
			cfg.API.Listen = "127.0.0.1:0"
		}

		if err := api.CheckListen(cfg.API.Listen, true); err != nil {
			return &statusError{exitUsage, err}
		}

		b, err := server.Embed(cfg, log, server.Events{})
		if err != nil {
			return err
		}

		return errors.Join(runEmbedded(c.Context(), c.OutOrStdout(), b, "dev", s.json), b.Close())
	}

	return c
}

// listenFlags puts --listen and --api-listen into the settings and refuses addresses
// of the engine that other machines could reach.
func listenFlags(c *cobra.Command, cfg *server.Config) error {
	for name, field := range map[string]*string{"listen": &cfg.Listen, "api-listen": &cfg.API.Listen} {
		value, err := c.Flags().GetString(name)
		if err != nil {
			return err
		}

		if c.Flags().Changed(name) || *field == "" {
			*field = value
		}
	}

	if err := loopback(cfg.Listen); err != nil {
		return &statusError{exitUsage, err}
	}

	return nil
}

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

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}

	return l, nil
}

func apiURL(b *server.Backend, l net.Listener) string {
	if b.Config.API.TLSCert != "" {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
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

func banner(out io.Writer, b *server.Backend, at place, arn string) {
	ratchet := "ratchet"
	if b.Config.Data != (server.Config{}).WithDefaults().Data {
		ratchet += " --data " + b.Config.Data
	}
	fmt.Fprintf(out, `Ratchet runs. One endpoint for DynamoDB, DynamoDB Streams, Step Functions and SQS:

  %s   (loopback; callers are not authenticated)

In a second terminal:
  %[5]s orders create o-1 --item mug:2:1250 --stock 10
  %[5]s orders watch o-1
  %[5]s executions list

`, at.engine, b.Config.Data, b.Tables.Orders, arn, ratchet)

	if at.name == "dev" {
		fmt.Fprintf(out, `The HTTP API is at %s (loopback; callers are not authenticated; docs/api.md):
  curl -X PUT %[1]s/v1/orders/o-2 -H 'Content-Type: application/json' \
    -d '{"items":[{"sku":"mug","quantity":1,"price":1250}],"total":{"amount":1250,"currency":"EUR"}}'
  curl %[1]s/v1/orders/o-2

`, at.api)
	} else {
		apiBanner(out, at.api, ratchet)
	}
	fmt.Fprintf(out, `With the AWS CLI (any credentials do):
  export AWS_ENDPOINT_URL=%[1]s AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x
  aws dynamodb scan --table-name %[3]s
  aws stepfunctions list-executions --state-machine-arn %[4]s

Data: %[2]s. Stop with Ctrl-C; nothing is lost.
`, at.engine, b.Config.Data, b.Tables.Orders, arn)
}
