package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
	"ratchet/notify/webhooks"
	"ratchet/shipping/sandbox"
)

// serveAs serves one of the far sides at an address until the process is killed.
func serveAs(handler func(context.Context, []string) (http.Handler, func(context.Context) error, error)) func() {
	return func() {
		address, ctx := os.Args[1], context.Background()

		h, work, err := handler(ctx, os.Args[2:])
		if err == nil {
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error { return work(ctx) })
			group.Go(func() error {
				s := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: time.Minute}
				fmt.Println("serves", address)

				return s.ListenAndServe()
			})
			err = group.Wait()
		}

		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// engine serves an embedded engine: DIR.
func engine(_ context.Context, args []string) (http.Handler, func(context.Context) error, error) {
	e, err := embedded.Open(embedded.Config{Dir: args[0]})
	if err != nil {
		return nil, nil, err
	}

	return e.Handler(), e.Run, nil
}

// carrier serves the sandbox over an engine of its own, and reports by signed callbacks: DIR URL.
func carrier(ctx context.Context, args []string) (http.Handler, func(context.Context) error, error) {
	secret, err := webhooks.ParseSecret(carrierSecret)
	if err != nil {
		return nil, nil, err
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		return nil, nil, err
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachPrivate})
	if err != nil {
		return nil, nil, err
	}

	e, err := embedded.Open(embedded.Config{Dir: args[0]})
	if err != nil {
		return nil, nil, err
	}
	db := dynamodb.NewFromConfig(e.AWSConfig())

	_, err = db.CreateTable(ctx, sandbox.Table(shipmentsTable))
	// After a kill the table is there.
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return nil, nil, err
	}

	c, err := sandbox.New(sandbox.Config{
		DynamoDB: db, Table: shipmentsTable, Delay: 300 * time.Millisecond, Track: true,
		Deliver: sandbox.Callbacks(client, args[1]),
	})
	if err != nil {
		return nil, nil, err
	}

	return c.Handler(""), func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return e.Run(ctx) })
		group.Go(func() error { return c.Run(ctx) })

		return group.Wait()
	}, nil
}

const (
	shipmentsTable = "shipments"
	carrierSecret  = "carrier-secret-of-24-bytes"
)

// receiver stores each notification in a file under its key: DIR. It refuses another content under a key.
func receiver(_ context.Context, args []string) (http.Handler, func(context.Context) error, error) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}

		sum := sha256.Sum256([]byte(r.Header.Get("Idempotency-Key")))
		name := filepath.Join(args[0], hex.EncodeToString(sum[:]))

		// In one step, so that a kill leaves no half of a file.
		half := fmt.Sprintf("%s.%d", name, time.Now().UnixNano())
		if err = os.WriteFile(half, body, 0o600); err == nil {
			if err = os.Link(half, name); errors.Is(err, os.ErrExist) {
				err = same(name, body, args[0])
			}
			_ = os.Remove(half)
		}

		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}

	return http.HandlerFunc(serve), func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
}

// conflicts is the file with the keys that came with another content.
const conflicts = "conflicts"

func same(name string, body []byte, dir string) error {
	first, err := os.ReadFile(name)
	if err != nil || bytes.Equal(first, body) {
		return err
	}

	return os.WriteFile(filepath.Join(dir, conflicts), append(first, body...), 0o600)
}
