package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
	"ratchet/internal/dynamodblocal"
)

// endpoint is a DynamoDB, with an SDK client of it.
type endpoint struct {
	name string
	// suffix ends the names of its figures; "" for the engine.
	suffix string
	// url is its address for other processes; "" if it has none.
	url string
	db  *dynamodb.Client
	// stop ends it and removes its data.
	stop func() error
}

// openEmbedded opens an embedded engine in a directory of its own. With the zero configuration
// it syncs every write to disk. stop closes it and removes its data.
func openEmbedded(cfg embedded.Config) (engine *embedded.Engine, stop func() error, err error) {
	// A data directory of its own, so that no run finds the data of another one.
	cfg.Dir, err = os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, nil, err
	}

	engine, err = embedded.Open(cfg)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(cfg.Dir))
	}

	return engine, func() error { return errors.Join(engine.Close(), os.RemoveAll(cfg.Dir)) }, nil
}

// openEngine opens an embedded engine in this process.
func openEngine() (*endpoint, error) {
	engine, stop, err := openEmbedded(embedded.Config{})
	if err != nil {
		return nil, err
	}

	return &endpoint{
		name: "embedded engine in process",
		db:   dynamodb.NewFromConfig(engine.AWSConfig()),
		stop: stop,
	}, nil
}

// openSocket serves an embedded engine on a loopback listener.
func openSocket(context.Context) (*endpoint, error) {
	engine, stop, err := openEmbedded(embedded.Config{})
	if err != nil {
		return nil, err
	}

	web := httptest.NewServer(engine.Handler())
	e := remote("embedded engine over its socket", web.URL)
	// The suffix keeps the figures of the engine over HTTP apart from those in process.
	e.suffix = "_embedded"
	e.stop = func() error {
		web.Close()
		return stop()
	}

	return e, nil
}

// openLocal starts DynamoDB Local, its data in memory.
func openLocal(ctx context.Context) (*endpoint, error) {
	server, err := dynamodblocal.Start(ctx, ".cache/dynamodb-local")
	if err != nil {
		return nil, err
	}
	e := remote("DynamoDB Local", server.URL)
	e.suffix, e.stop = "_dynamodb_local", server.Stop

	return e, nil
}

// remote returns an endpoint that is reached over HTTP, as AWS is. Its transport keeps a
// connection for each caller; the default one keeps two for a host.
func remote(name, url string) *endpoint {
	// The default transport is shared by the whole process, so a copy is changed.
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 512

	return &endpoint{
		name: name,
		url:  url,
		db: dynamodb.NewFromConfig(aws.Config{
			Region:       "us-east-1",
			BaseEndpoint: &url,
			HTTPClient:   &http.Client{Transport: transport},
			Credentials:  credentials.NewStaticCredentialsProvider("bench", "bench", ""),
		}),
	}
}

// tables creates the tables.
func (e *endpoint) tables(ctx context.Context, inputs ...*dynamodb.CreateTableInput) error {
	for _, in := range inputs {
		if _, err := e.db.CreateTable(ctx, in); err != nil {
			return fmt.Errorf("%s: create table %s: %w", e.name, aws.ToString(in.TableName), err)
		}
	}

	return nil
}

// median returns the median of the values. There must be at least one.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}

	return (values[n/2-1] + values[n/2]) / 2
}
