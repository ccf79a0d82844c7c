package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"ratchet/activities/tasktoken"
	"ratchet/api/auth"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/operate/audit"
	"ratchet/operate/erasure"
	"ratchet/operate/executions"
	"ratchet/operate/inspect"
	"ratchet/operate/jobs"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
	"ratchet/payments"
	"ratchet/shipping/reports"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/replay"
	"ratchet/streams/retryqueue"
	"ratchet/streams/status"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
	"ratchet/workflow/plan"
)

// Config configures the API. The parts from Orders to Acts and Secret are required,
// and exactly one of Auth and Dev.
type Config struct {
	Orders  *transitions.Orders
	Stock   *inventory.Stock
	Actions *actions.Actions
	// Claims says where claims are stored. Only DynamoDB and Table are read.
	Claims   once.Config
	Locks    *once.Locks
	Ledger   *ledger.Ledger
	Payments *payments.Payments
	// Parked holds the tokens of waiting executions, which Completer answers.
	Parked      *tasktoken.Store
	Completer   completer
	DeadLetters deadletters.Letters
	// RetryQueue is where dead letters are redriven.
	RetryQueue retryqueue.Queue
	// Endpoints get notifications, which Deliveries brings to them.
	Endpoints  *notify.Endpoints
	Deliveries *notify.Deliveries
	// Acts gets a row for each request that needs the scope admin and changes something.
	Acts *audit.Log

	// Reports judges the callbacks of the carrier. If it is nil, their routes answer 404.
	Reports *reports.Receiver
	// Lists are lists of the orders. Without them, or until they are ready, listing orders
	// scans the table.
	Lists *lists.Lists
	// Handlers are the stream handlers whose dead letters can be listed and redriven. Default: none.
	Handlers []streams.Handler
	// Around has the sources of an order's explanation beside its transitions. A nil source is left out.
	Around inspect.Around
	// Executions redrives and repairs the executions of orders, and explains those without an order. If it
	// is nil, their routes answer 404.
	Executions *executions.Executions
	// Machine returns the state machine of the orders' executions. It is called once, for the first question. If it is nil,
	// the answers show the definition alone.
	Machine func() (Machine, error)
	// Eraser removes persons from orders. If it is nil, its route answers 404.
	Eraser *erasure.Eraser
	// Scheduled keeps the transitions that are requested for later.
	Scheduled *scheduled.Schedule
	// Jobs do one act to many subjects. If it is nil, their routes answer 404.
	Jobs *jobs.Store
	// Questions answers slow questions. If it is nil, their routes answer 404.
	Questions *questions.Desk
	// BookAgain books a shipment in the place of one that the carrier has canceled. If it is nil, its route
	// answers 404.
	BookAgain func(context.Context, transitions.OrderID) (tracking string, err error)
	// DueBefore returns the effects that are due and that the order would skip if the event moved it now,
	// and none for an order that has made the request already.
	// Nil: requests with refuseSkipped are refused.
	DueBefore func(ctx context.Context, id transitions.OrderID, event workflow.Event, made func(*transitions.Order) bool) ([]inspect.Due, error)
	// Replay delivers changes of an order to handlers again. If it is nil, the route answers 404.
	Replay func(context.Context, Replay) (replay.RebuildCount, error)
	// Behind returns the age of the oldest record of the orders' stream for which no worker has begun anything, 0 if it
	// is not known. While it is more than 4 s, orders are refused with reactions_behind. Nil: orders are always taken.
	Behind func() time.Duration
	// Stream says how far the orders' stream is handled. If it is nil, the route answers 404.
	Stream func(context.Context) (status.Status, error)
	// Status says what runs where, and what needs a person. If it is nil, the route answers 404.
	Status func(context.Context) (inspect.SystemStatus, error)
	// Quotas are the quotas of the account, by the names of package plan; nil if the service does not run on AWS.
	Quotas plan.Quotas
	// LastHour returns what all processes did in the last hour. If it is nil, the route answers 404.
	LastHour func() (processes.Hour, error)
	// Processes has the stuck orders that surveys have found, and the counts of orders. If it is nil, their routes answer 404.
	Processes *processes.Store
	// Start starts the execution of a created order. It must be idempotent: a repeated
	// request calls it again. If it is nil, orders are created without an execution.
	Start func(context.Context, transitions.NewOrder) error
	// AddReserved adds lines to an order and reserves their stock in one transaction. If
	// the verdict of its result is Done, the result may lack the order. If AddReserved is
	// nil, the route answers 404.
	AddReserved func(context.Context, transitions.Edit, ...transitions.Item) (transitions.Result, error)
	// Ready returns an error while requests cannot be served; /readyz answers 503 then.
	// If it is nil, the API is always ready.
	Ready func(context.Context) error
	// Draining is closed when the server begins to stop. Event streams end then, and
	// /readyz answers 503. Nil never closes.
	Draining <-chan struct{}

	// Auth checks bearer tokens.
	Auth auth.Authenticator
	// Dev disables authentication: every caller is an administrator of the default tenant.
	Dev bool
	// Secret is 32 bytes that all instances share. It encrypts cursors.
	Secret []byte
	// AllowedHosts are names that requests may have in their Host header, see [door.Config]. Default: none
	// beside IP addresses and localhost, and all names if the listener's address is not a loopback
	// address.
	AllowedHosts []string

	// Rate limits the requests per second of each caller, in bursts of up to twice as many. Default
	// 200. A negative value means no limit. Invalid credentials from one address are limited to a
	// burst of 20 and then one per second.
	Rate float64
	// TenantRate limits the requests per second of all callers of a tenant together, in bursts of
	// up to twice as many. TenantRates are the limits of tenants that have another one, by tenant. A
	// negative value means no limit, which is the default.
	TenantRate  float64
	TenantRates map[string]float64
	// InFlight is how many requests are served at once. Only requests with an
	// authenticated caller and a complete body count. Twice as many more wait for at most a second;
	// the API answers 503 to the rest. With authentication one caller has at most three quarters of
	// both numbers. Default 256.
	InFlight int
	// Watches is how many event streams one caller may have open, 1 to 1,000. All callers together
	// have at most 1,000. Default 16.
	Watches int
	// WatchFor is how long an event stream stays open. Default 15 min.
	WatchFor time.Duration

	// Audit receives one record per request that may have changed something. Default: the
	// handler of Log.
	Audit slog.Handler
	// Served is called after each request, from its goroutine, with the pattern of the route
	// ("" or "/" without one), the header and the status of the answer (0 if there is none),
	// and the time that it took. It is optional and must not block.
	Served func(r *http.Request, pattern string, answer http.Header, status int, took time.Duration)
	// Log receives failures of the server. Default slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	setDefault(&c.Rate, 200)
	setDefault(&c.TenantRate, -1)
	setDefault(&c.InFlight, 256)
	setDefault(&c.Watches, 16)
	setDefault(&c.WatchFor, 15*time.Minute)

	if c.Log == nil {
		c.Log = slog.Default()
	}

	if c.Audit == nil {
		c.Audit = c.Log.Handler()
	}

	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate reports every field that breaks its rule.
func (c Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("api: Config."+format, args...))
		}
	}

	check(c.Orders != nil, "Orders: must not be nil")
	check(c.Stock != nil, "Stock: must not be nil")
	check(c.Actions != nil, "Actions: must not be nil")
	check(c.Claims.DynamoDB != nil, "Claims.DynamoDB: must not be nil")
	check(c.Locks != nil, "Locks: must not be nil")
	check(c.Ledger != nil, "Ledger: must not be nil")
	check(c.Payments != nil, "Payments: must not be nil")
	check(c.Parked != nil, "Parked: must not be nil")
	check(c.Completer != nil, "Completer: must not be nil")
	check(c.DeadLetters.DynamoDB != nil, "DeadLetters.DynamoDB: must not be nil")
	check(c.RetryQueue.DynamoDB != nil, "RetryQueue.DynamoDB: must not be nil")
	check(c.Endpoints != nil, "Endpoints: must not be nil")
	check(c.Deliveries != nil, "Deliveries: must not be nil")
	check(c.Acts != nil, "Acts: must not be nil")
	check((c.Auth != nil) != c.Dev, "Auth and Config.Dev: exactly one must be set")
	check(len(c.Secret) == secretBytes, "Secret: %d bytes, must be %d", len(c.Secret), secretBytes)

	for tenant, limit := range c.TenantRates {
		// 0 is refused, because it could mean no limit or no requests.
		check(limit != 0, "TenantRates[%s]: must be more than 0, or negative for no limit", tenant)
	}

	check(c.InFlight >= 1, "InFlight: %d, must be at least 1", c.InFlight)
	check(c.Watches >= 1 && c.Watches <= maxWatches, "Watches: %d, must be 1 to %d", c.Watches, maxWatches)
	check(c.WatchFor >= 0, "WatchFor: %s, must not be negative", c.WatchFor)

	return errors.Join(errs...)
}

// CheckListen returns an error if the address may not be listened on. Without
// authentication (dev) only loopback addresses are allowed, so that no other machine
// reaches the API.
func CheckListen(address string, dev bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen %q: must be HOST:PORT", address)
	}

	if dev && !isLoopback(host) {
		return fmt.Errorf("listen %q: without authentication only loopback addresses (127.0.0.1, [::1], localhost), unless the setting listen-remote says otherwise", address)
	}

	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
