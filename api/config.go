package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/actions"
	"ratchet/api/auth"
	"ratchet/inventory"
	"ratchet/ledger"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/streams"
	"ratchet/tasktoken"
	"ratchet/transitions"
)

// stepFunctions is what this package calls of a *sfn.Client.
type stepFunctions interface {
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
}

// Config says what is served to whom. The parts, and Secret, must be set; of Auth and
// Dev exactly one.
type Config struct {
	Orders  *transitions.Orders
	Stock   *inventory.Stock
	Actions *actions.Actions
	// Claims says where claims are kept: DynamoDB and Table.
	Claims      once.Config
	Locks       *once.Locks
	Ledger      *ledger.Ledger
	Payments    *payments.Payments
	Parked      *tasktoken.Store
	SFN         stepFunctions
	DeadLetters streams.DeadLetters
	// Handlers are those whose dead letters can be redriven.
	Handlers []streams.Handler
	// Start starts the execution of an order that was placed; a repeat changes nothing.
	// Nil: orders are only placed.
	Start func(context.Context, transitions.NewOrder) error
	// AddReserved adds lines to an order together with their reservation, all or
	// nothing; of a result that is Done it need not tell the order. Nil: there is no such
	// route.
	AddReserved func(context.Context, transitions.Edit, ...transitions.Item) (transitions.EditResult, error)
	// Ready says why requests cannot be served, for /readyz. Nil: always ready.
	Ready func(context.Context) error
	// Draining is closed when the server begins to stop: streams of events end, and
	// /readyz says so. Nil: never.
	Draining <-chan struct{}

	// Auth checks bearer tokens. Dev lets everybody in as an administrator of the
	// default tenant, from this machine only.
	Auth auth.Authenticator
	Dev  bool
	// Secret: 32 bytes that all instances share. It seals cursors.
	Secret []byte
	// Hosts are names, beside localhost, that a request to a loopback address may be
	// for: those of a proxy on the same machine.
	Hosts []string

	// Rate and Burst bound each caller's requests per second. Default 200 and 400; a
	// negative Rate is no bound. Bad credentials from one address: 1 per second.
	Rate  float64
	Burst int
	// InFlight requests are worked on at once, Queue wait for at most a second, the
	// rest is turned away with 503. Default 256 and 512.
	InFlight, Queue int
	// Timeout bounds the work on one request. Default 20 s.
	Timeout time.Duration
	// Watches, WatchesPerCaller and WatchFor bound the open streams of events: in all,
	// of one caller, and in time. Default 1,000, 16 and 15 min.
	Watches, WatchesPerCaller int
	WatchFor                  time.Duration

	// Audit gets one record per request that may have changed something. Default: Log.
	Audit slog.Handler
	// Log gets what went wrong on our side. Default: slog.Default().
	Log *slog.Logger
	// Now is the clock of rates and streams. Default time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	number := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	number(&c.Burst, 400)
	number(&c.InFlight, 256)
	number(&c.Queue, 512)
	number(&c.Watches, 1000)
	number(&c.WatchesPerCaller, 16)

	if c.Rate == 0 {
		c.Rate = 200
	}

	if c.Timeout == 0 {
		c.Timeout = 20 * time.Second
	}

	if c.WatchFor == 0 {
		c.WatchFor = 15 * time.Minute
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	if c.Audit == nil {
		c.Audit = c.Log.Handler()
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	return c
}

func (c Config) validate() error {
	switch {
	case c.Orders == nil, c.Stock == nil, c.Actions == nil, c.Claims.DynamoDB == nil, c.Locks == nil, c.Ledger == nil, c.Payments == nil, c.Parked == nil, c.SFN == nil, c.DeadLetters.DynamoDB == nil:
		return errors.New("api: a part of Config is not set: Orders, Stock, Actions, Claims, Locks, Ledger, Payments, Parked, SFN or DeadLetters")
	case c.Auth == nil && !c.Dev:
		return errors.New("api: Config.Auth is nil, and Config.Dev does not say that everybody may come in")
	case c.Auth != nil && c.Dev:
		return errors.New("api: Config.Auth and Config.Dev contradict each other")
	case len(c.Secret) != 32:
		return fmt.Errorf("api: Config.Secret: %d bytes, must be 32", len(c.Secret))
	case c.InFlight < 1, c.Queue < 0, c.Burst < 1, c.Watches < 1, c.WatchesPerCaller < 1, c.Timeout < 0, c.WatchFor < 0:
		return errors.New("api: a bound of Config is negative: Burst, InFlight, Queue, Watches, WatchesPerCaller, Timeout or WatchFor")
	}

	return nil
}

// CheckListen refuses to let everybody in from other machines: without authentication
// only loopback addresses may be listened on.
func CheckListen(address string, dev bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: must be HOST:PORT: %w", address, err)
	}

	if dev && !isLoopback(host) {
		return fmt.Errorf("listen %q: without authentication only loopback addresses (127.0.0.1, [::1], localhost)", address)
	}

	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
