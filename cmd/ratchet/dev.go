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

	"ratchet/server"
)

func devCommand(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "dev", Short: "Run everything here: engine, workers, stream poller, sandbox carrier",
		Long: "Runs the embedded engine over --data, serves it on --listen for the AWS CLI, any SDK and\n" +
			"other ratchet commands, and works on it until interrupted. Data stays in --data.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, log, err := s.load()
			if err != nil {
				return err
			}
			if cfg.Listen, err = c.Flags().GetString("listen"); err != nil {
				return err
			}
			if err := loopback(cfg.Listen); err != nil {
				return &statusError{exitUsage, err}
			}
			b, err := server.Embed(cfg, log, server.Hooks{})
			if err != nil {
				return err
			}
			return errors.Join(dev(c.Context(), c.OutOrStdout(), b, s.json), b.Close())
		},
	}
	c.Flags().String("listen", server.DefaultListen, "HOST:PORT on loopback; port 0 takes a free one")
	return c
}

// dev serves and works until ctx ends.
func dev(ctx context.Context, out io.Writer, b *server.Backend, asJSON bool) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", b.Config.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", b.Config.Listen, err)
	}
	endpoint := "http://" + listener.Addr().String()
	group, running := errgroup.WithContext(ctx)
	web := &http.Server{Handler: b.Engine.Handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		// A poll for tasks waits up to a minute; it ends when the server does.
		BaseContext: func(net.Listener) context.Context { return running }}
	group.Go(func() error { return b.Engine.Run(running) })
	group.Go(func() error {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
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
	group.Go(func() error { return work(running, out, b, endpoint, asJSON) })
	return group.Wait()
}

// work creates what is missing, says where to find it, and runs one worker.
func work(ctx context.Context, out io.Writer, b *server.Backend, endpoint string, asJSON bool) error {
	if err := b.Init(ctx); err != nil {
		return err
	}
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}
	mark := filepath.Join(b.Config.Data, endpointFile)
	if err := os.WriteFile(mark, []byte(endpoint+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(mark) //nolint:errcheck // a file left behind is recognised by nobody answering
	if asJSON {
		if err := printJSON(out, map[string]string{"endpoint": endpoint, "stateMachineArn": arn, "data": b.Config.Data}); err != nil {
			return err
		}
	} else {
		banner(out, b, endpoint, arn)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.Run(ctx, "dev") })
	group.Go(func() error { return b.Carrier.Run(ctx) })
	return group.Wait()
}

func banner(out io.Writer, b *server.Backend, endpoint, arn string) {
	ratchet := "ratchet"
	if b.Config.Data != (server.Config{}).WithDefaults().Data {
		ratchet += " --data " + b.Config.Data
	}
	fmt.Fprintf(out, `Ratchet runs. One endpoint for DynamoDB, DynamoDB Streams and Step Functions:

  %s   (loopback; callers are not authenticated)

In a second terminal:
  %[5]s orders create o-1 --item mug:2:1250 --stock 10
  %[5]s orders watch o-1
  %[5]s executions list

With the AWS CLI (any credentials do):
  export AWS_ENDPOINT_URL=%[1]s AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x
  aws dynamodb scan --table-name %[3]s
  aws stepfunctions list-executions --state-machine-arn %[4]s

Data: %[2]s. Stop with Ctrl-C; nothing is lost.
`, endpoint, b.Config.Data, b.Tables.Orders, arn, ratchet)
}
