// Command carrier is an example of a carrier that Ratchet reaches over HTTP. It serves the document
// of package shipping/httpcarrier and sends its reports as signed callbacks. It moves no parcels:
// behind it is the sandbox carrier, which can also simulate a bad carrier.
//
//	go run ./examples/carrier -callback-url http://127.0.0.1:8701/v1/callbacks/carrier -secret carrier-secret-of-24-bytes
//	RATCHET_CARRIER_SECRET=carrier-secret-of-24-bytes ratchet dev --carrier http://127.0.0.1:8710
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
	"ratchet/notify/webhooks"
	"ratchet/shipping/sandbox"
)

// options are the flags.
type options struct {
	listen, data, token string
	callbackURL, secret string
	delay               time.Duration
	faults              sandbox.Faults
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("carrier", flag.ContinueOnError)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8710", "HOST:PORT to serve on")
	f.StringVar(&o.data, "data", ".carrier", "directory of the shipments")
	f.StringVar(&o.token, "token", "", "bearer token that callers must send; empty: none")
	f.StringVar(&o.callbackURL, "callback-url", "", "where reports are sent; required")
	f.StringVar(&o.secret, "secret", "", "signs the reports: whsec_ and base64, or 24 to 64 bytes; required")
	f.DurationVar(&o.delay, "delay", 2*time.Second, "from a booking to the first report, and to the next")
	f.DurationVar(&o.faults.Down, "down", 0, "be down for so long from the start on")
	f.DurationVar(&o.faults.Latency, "latency", 0, "how long a call takes")
	f.IntVar(&o.faults.DuplicatePercent, "duplicate-percent", 0, "reports that are sent twice")
	f.IntVar(&o.faults.EarlyPercent, "early-percent", 0, "deliveries that are reported before their shipment, too")
	f.IntVar(&o.faults.LatePercent, "late-percent", 0, "deliveries that are reported ten times as late")
	f.IntVar(&o.faults.LostPercent, "lost-percent", 0, "parcels that are lost")
	f.IntVar(&o.faults.ReturnedPercent, "returned-percent", 0, "parcels that come back")

	if err := f.Parse(args); err != nil {
		return o, err
	}

	if o.callbackURL == "" || o.secret == "" {
		return o, errors.New("carrier: -callback-url and -secret are required")
	}

	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}

	if err == nil {
		err = run(ctx, o, func(address string) { fmt.Println("carrier: http://" + address) })
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// run serves until ctx ends. It calls ready with the address that it listens on.
func run(ctx context.Context, o options, ready func(address string)) (err error) {
	secret, err := webhooks.ParseSecret(o.secret)
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		return err
	}

	// The shop of the example runs on this machine, and by default only public addresses are
	// allowed.
	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback})
	if err != nil {
		return err
	}
	// The client's pool is closed after the carrier has stopped.
	defer func() { err = errors.Join(err, client.Close()) }()

	engine, err := embedded.Open(embedded.Config{Dir: o.data})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()

	carrier, err := newCarrier(ctx, o, engine, client)
	if err != nil {
		return err
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}

	server := &http.Server{Handler: carrier.Handler(o.token), ReadHeaderTimeout: 10 * time.Second}
	// The port is open, so a test may call it now.
	ready(listener.Addr().String())

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return engine.Run(ctx) })
	group.Go(func() error { return carrier.Run(ctx) })
	group.Go(func() error {
		// Close ends Serve with ErrServerClosed, which is the normal end.
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}

		return nil
	})
	// The end of ctx, and the error of any of the others, stops the server.
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})

	return group.Wait()
}

// newCarrier returns the sandbox over a table of the engine. It creates the table.
func newCarrier(ctx context.Context, o options, engine *embedded.Engine, client *webhooks.Client) (*sandbox.Carrier, error) {
	const table = "shipments"
	db := dynamodb.NewFromConfig(engine.AWSConfig())

	_, err := db.CreateTable(ctx, sandbox.Table(table))
	// A later start finds the table of the first one.
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return nil, err
	}

	return sandbox.New(sandbox.Config{
		DynamoDB: db,
		Table:    table,
		Delay:    o.delay,
		Deliver:  sandbox.Callbacks(client, o.callbackURL),
		Track:    true,
		Faults:   o.faults,
	})
}
