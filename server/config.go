package server

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/notify/webhooks"
	"ratchet/operate/audit"
	"ratchet/transitions"
)

// Config says where Ratchet's data is and how its parts behave. The zero value is ready
// to use: the embedded engine with its data in .ratchet. The tags are the names of the
// command line's settings.
type Config struct {
	// EndpointURL is a compatible endpoint for all four services (DynamoDB, DynamoDB
	// Streams, Step Functions and SQS), like http://127.0.0.1:8700. Empty: AWS if a region
	// is configured, else the embedded engine.
	EndpointURL string `koanf:"endpoint-url"`
	// Data is the embedded engine's directory. Default: ".ratchet".
	Data string `koanf:"data"`
	// Listen is where `ratchet dev` serves the engine. Default: [DefaultListen].
	Listen string `koanf:"listen"`
	// FaultAdmin lets callers with the token of the data directory disturb the embedded engine over the wire, for
	// tests: make its calls fail, move its clock, replace its streams (see [embedded.Config]). Without it they are
	// refused.
	FaultAdmin bool `koanf:"fault-admin"`
	// Prefix begins the names of tables, activities and the state machine, at most 40 of
	// A-Z a-z 0-9 _ -. Default: "ratchet-".
	Prefix string `koanf:"prefix"`
	// RoleARN is the role of the state machine on AWS. The engine ignores it. Default:
	// "arn:aws:iam::000000000000:role/ratchet".
	RoleARN string `koanf:"role-arn"`
	// Notify is the destination of the endpoint "configured", which gets the notifications of all
	// tenants, in addition to the endpoints of `ratchet endpoints`. It is "log"; "file:FILE", with a line
	// of JSON for each notification; "dir:DIR", with a file for each notification key; an http(s) URL,
	// which needs WebhookSecret; or "none" for no such endpoint. Default: "log".
	Notify string `koanf:"notify"`
	// WebhookSecret signs webhooks: "whsec_" and base64, or 24 to 64 bytes of text. During
	// a rotation it holds the new secret and the old one, separated by a space. A URL in
	// Notify needs it. Default: none. It is never printed.
	WebhookSecret Secret `koanf:"webhook-secret"`
	// SMTPURL is the server that e-mails to endpoints go through:
	// smtp://[USER:PASSWORD@]HOST:PORT. SMTPFrom is the sender. Empty: no e-mails. SMTPURL
	// is never printed.
	SMTPURL  Secret `koanf:"smtp-url"`
	SMTPFrom string `koanf:"smtp-from"`
	// CallbackSecret verifies the payment processor's callbacks, in the form of WebhookSecret. Empty:
	// every callback is refused. It is never printed.
	CallbackSecret Secret `koanf:"callback-secret"`
	// WebhookReach says which addresses webhooks may be sent to: "public", "loopback" or
	// "private", see [webhooks.Reach]. Default: loopback if the data is on this machine,
	// else public, and always public under `ratchet serve` with authentication.
	WebhookReach string `koanf:"webhook-reach"`
	// Journal says who writes the orders' journal: "stream" (the poller of the stream) or
	// "transactional" (each transition itself), see [transitions.JournalMode]. Default:
	// "stream".
	Journal string `koanf:"journal"`
	// JournalOwn adds to each row of the journal the attributes of your own that its transition has set and removed,
	// see [transitions.Config].
	JournalOwn bool `koanf:"journal-own"`
	// OrdersTable says how orders stand in a table of your own.
	OrdersTable OrdersTable `koanf:",squash"`
	// OrderLists makes the workers keep lists of orders by state and by time in a separate table (see
	// package lists). Without it, listing orders scans the orders' table.
	OrderLists bool `koanf:"order-lists"`
	// OrderDefinition is a file in YAML or JSON (see package workflow/file) with the
	// definition of orders. Default: [workflow.Order].
	OrderDefinition string `koanf:"order-definition"`
	// StateMachine is a file with your own state machine in ASL (JSON), see [Workflow]. Default: the
	// shop's state machine. The definition must fit the state machine.
	StateMachine string `koanf:"state-machine"`
	// OtherActivities are the activities of your own state machine that workers of other programs
	// serve, without the prefix. They must not move orders themselves. Default: none.
	OtherActivities []string `koanf:"other-activities"`
	// AcceptVersions are other versions of the definition whose orders may be moved
	// without a migration (see [transitions.Config]). Default: none.
	AcceptVersions []int `koanf:"accept-versions"`
	// ActionKeys sign the ids of one-time actions and hash their PINs: VERSION:BASE64, the
	// signing key first, then older ones (`ratchet actions key` makes one). Empty: the
	// keys in the data directory; on AWS there are none. They are never printed.
	ActionKeys Secret `koanf:"action-keys"`
	// RequestsQueue is the SQS queue that transition requests arrive on: its URL, or its
	// name, which Init creates. Empty: no queue. See package queues/requests.
	RequestsQueue string `koanf:"requests-queue"`
	// Slots is how many tasks of each activity a worker runs at the same time. It is also how many
	// requests from the queue a worker handles at the same time. 1 to 1000. Default: 32.
	Slots int `koanf:"slots"`
	// CallsPerSecond is a worker's share of each of the account's quotas for GetActivityTask,
	// SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat, 1 to 10000. Several workers
	// divide the quotas. Default: 250, and no limit for the embedded engine.
	CallsPerSecond int `koanf:"calls-per-second"`
	// FreshFor is how long after a transition its reactions rely on the change from the stream. After
	// that they read the order again, for example before they book a shipment. At least 1 ms. Default:
	// 10 s.
	FreshFor time.Duration `koanf:"fresh-for"`
	// Bank takes the money: "sandbox", which moves no money. Empty: the program's own bank, else the
	// sandbox, except on AWS, where a shop must name one of the two.
	Bank string `koanf:"bank"`
	// PaymentMode says when the money of an order is taken: "charge" (at once) or "capture"
	// (held at once, taken when the order has shipped). Default: "charge".
	PaymentMode string `koanf:"payment-mode"`
	// RefundReturns makes the workers refund a returned order and move it to REFUNDED. If one of several
	// parcels comes back, they refund the parcel's lines. Without it a person must do both. It applies to
	// orders that are returned while it is set.
	RefundReturns bool `koanf:"refund-returns"`
	// ExpireUnpaid is how long an order of the built-in shop may be PENDING before it expires, and ReturnWindow
	// how long after its delivery it is closed, see [workflow.Terms]: whole seconds, at least 1 min, at most 366 days. 0:
	// never. Other definitions say so themselves.
	ExpireUnpaid time.Duration `koanf:"expire-unpaid"`
	ReturnWindow time.Duration `koanf:"return-window"`
	// DeclinePercent is the share of payments that the sandbox bank declines, in percent,
	// TimeoutPercent the share that time out once, 0 to 100. Default: 0.
	DeclinePercent int `koanf:"decline-percent"`
	// TimeoutPercent is the share of requests to the sandbox bank whose first answer is lost, 0 to 100.
	// Default: 0.
	TimeoutPercent int `koanf:"timeout-percent"`
	// EffectLease is how long a worker may take for one effect, 1 s to 1 h; after that
	// another worker repeats it under the same key. Default: 20 s.
	EffectLease time.Duration `koanf:"effect-lease"`
	// CarrierDelay is how long the sandbox carrier takes to ship, and again to
	// deliver. Default: 2 s.
	CarrierDelay time.Duration `koanf:"carrier-delay"`
	// Carrier moves the parcels: "sandbox"; the URL of a carrier that serves the calls of package
	// shipping/httpcarrier; or "execution:ARN", a state machine, of which each shipment starts an
	// execution. Empty: the program's own carrier, else the sandbox, except on AWS, where a shop must
	// name a carrier.
	Carrier string `koanf:"carrier"`
	// CarrierToken is the bearer token for a carrier's URL. Empty: none is sent. It is never printed.
	CarrierToken Secret `koanf:"carrier-token"`
	// CarrierSecret verifies the callbacks of the carrier, in the form of WebhookSecret. Empty:
	// every callback is refused. It is never printed.
	CarrierSecret Secret `koanf:"carrier-secret"`
	// CarrierFaults are the faults of the sandbox carrier. Default: none.
	CarrierFaults CarrierFaults `koanf:",squash"`
	// AdminListen is the HOST:PORT where a process serves its health and its metrics, without
	// authentication, or "off". Default: [DefaultAdminListen], or a free port of the loopback
	// address if that one is in use.
	AdminListen string `koanf:"admin-listen"`
	// ReadyLag is how old the oldest unfinished record of the orders' stream may be while a
	// worker is ready, at least 1 s. Default: 5 min.
	ReadyLag time.Duration `koanf:"ready-lag"`
	// Tracing says where traces, metrics and the log go.
	Tracing TracingConfig `koanf:",squash"`
	// StuckEvery is the time between two counts of the orders that need a person, at least 1 min. One of
	// the workers makes each count and reads every order. Negative: no counts. Default: 1 h; then nothing
	// is counted if there are more than 100,000 orders.
	StuckEvery time.Duration `koanf:"stuck-every"`
	// CountUnits is how many read units a second the count of the orders by state may use, on average: it reads every order, and
	// begins again when as many units have passed. Negative: no count. Default: 5.
	CountUnits float64 `koanf:"count-units"`
	// AuditRetention is how long a row of the audit table is kept, at least 24 h. Default: 400 days.
	AuditRetention time.Duration `koanf:"audit-retention"`
	// API configures the HTTP API.
	API APIConfig `koanf:",squash"`
	// Console says who logs in to the console.
	Console ConsoleConfig `koanf:",squash"`
	// Network says who reaches the listeners.
	Network NetworkConfig `koanf:",squash"`
	// Identity is the identity of the data directory that the engine at EndpointURL must have open (see
	// [embedded.Identity]); every request to another engine fails. Empty: any.
	Identity string `koanf:"-"`
	// Parts are the program's own implementations.
	Parts Parts `koanf:"-"`
}

// The values of [Config.PaymentMode].
const (
	paymentCharge  = "charge"
	paymentCapture = "capture"
)

// Sandbox is the value of [Config.Bank] and [Config.Carrier] for the sandboxes.
const Sandbox = "sandbox"

// DefaultListen is where `ratchet dev` serves the engine by default.
const DefaultListen = "127.0.0.1:8700"

// WithDefaults returns the configuration with its empty fields set to their defaults.
func (c Config) WithDefaults() Config {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&c.Data, ".ratchet")
	fill(&c.Listen, DefaultListen)
	fill(&c.Prefix, "ratchet-")
	fill(&c.Notify, "log")
	fill(&c.PaymentMode, paymentCharge)
	fill(&c.Journal, transitions.JournalByStream.String())
	fill(&c.RoleARN, "arn:aws:iam::000000000000:role/ratchet")

	if c.Slots == 0 {
		c.Slots = 32
	}

	if c.FreshFor == 0 {
		c.FreshFor = 10 * time.Second
	}

	if c.EffectLease == 0 {
		c.EffectLease = 20 * time.Second
	}

	if c.CarrierDelay == 0 {
		c.CarrierDelay = 2 * time.Second
	}

	if c.ReadyLag == 0 {
		c.ReadyLag = 5 * time.Minute
	}

	if c.AuditRetention == 0 {
		c.AuditRetention = audit.DefaultRetention
	}

	// Other fields stay empty: their defaults depend on where the data is, or on free ports.
	c.API = c.API.withDefaults()
	c.Console, c.Network = c.Console.withDefaults(), c.Network.withDefaults()
	fill(&c.Tracing.Propagation, PropagateToAll)

	return c
}

// isTerm reports whether a delay is one of the built-in shop's timed transitions.
func isTerm(d time.Duration) bool {
	return d >= time.Minute && d <= 366*24*time.Hour && d%time.Second == 0
}

// hasBuiltInDefinition reports whether the orders are those of the built-in shop.
func (c Config) hasBuiltInDefinition() bool {
	return c.OrderDefinition == "" && (c.Parts.Workflow == nil || c.Parts.Workflow.Definition == nil)
}

var prefixRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{0,40}$`) })

// Validate returns an error with every field that breaks a rule, its value and the rule. Call it on a
// configuration that [Config.WithDefaults] has filled. Secrets, keys and files are checked when they
// are read.
func (c Config) Validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}

	require(c.EndpointURL == "" || isHTTPURL(c.EndpointURL), "endpoint-url %q: must be http://HOST:PORT or https://HOST", withoutUser(c.EndpointURL))
	require(prefixRule().MatchString(c.Prefix), "prefix %q: at most 40 of A-Z a-z 0-9 _ -", withoutUser(c.Prefix))
	require(slices.Contains(journalModes(), c.Journal), `journal %q: must be "stream" or "transactional"`, withoutUser(c.Journal))
	require(c.PaymentMode == paymentCharge || c.PaymentMode == paymentCapture, `payment-mode %q: must be "charge" or "capture"`, withoutUser(c.PaymentMode))
	require(c.RequestsQueue == "" || isURL(c.RequestsQueue) || queueNameRule().MatchString(c.RequestsQueue), requestsQueueRule, withoutUser(c.RequestsQueue))

	require(c.Slots >= 1 && c.Slots <= 1000, "slots %d: 1 to 1000", c.Slots)
	require(c.CallsPerSecond >= 0 && c.CallsPerSecond <= 10_000, "calls-per-second %d: 1 to 10000", c.CallsPerSecond)

	for _, term := range []struct {
		setting string
		delay   time.Duration
	}{{"expire-unpaid", c.ExpireUnpaid}, {"return-window", c.ReturnWindow}} {
		require(term.delay == 0 || isTerm(term.delay), "%s %s: whole seconds from 1m to 366 days, or 0", term.setting, term.delay)
		require(term.delay == 0 || c.hasBuiltInDefinition(), "%s: only the built-in definition of orders; another one says after", term.setting)
	}

	require(c.FreshFor >= time.Millisecond, "fresh-for %s: at least 1ms", c.FreshFor)
	require(c.DeclinePercent >= 0 && c.DeclinePercent <= 100, "decline-percent %d: 0 to 100", c.DeclinePercent)
	require(c.TimeoutPercent >= 0 && c.TimeoutPercent <= 100, "timeout-percent %d: 0 to 100", c.TimeoutPercent)
	require(c.EffectLease >= time.Second && c.EffectLease <= time.Hour, "effect-lease %s: 1s to 1h", c.EffectLease)
	require(c.Bank == "" || c.Bank == Sandbox, `bank %q: must be "sandbox" or empty`, withoutUser(c.Bank))
	require(c.Carrier == "" || isCarrier(c.Carrier), `carrier %q: must be "sandbox", an http(s) URL or "execution:ARN"`, withoutUser(c.Carrier))
	require(c.CarrierDelay >= 0, "carrier-delay %s: must not be negative", c.CarrierDelay)

	require(slices.Contains(webhookReaches(), c.WebhookReach), "webhook-reach %q: public, loopback or private", withoutUser(c.WebhookReach))
	require(isNotifyTarget(c.Notify) || c.Parts.isDestination(c.Notify), notifyRule, withoutUser(c.Notify))

	// An activity of another program must not have the name of a built-in step: both programs would serve
	// it.
	for _, name := range c.OtherActivities {
		require(isStepName(name) && !isBuiltInStep(name, c.Parts.Workflow != nil && c.Parts.Workflow.Shop),
			"other-activities %q: 1 to %d of a-z 0-9 with single dashes between them, and no step that Ratchet has", withoutUser(name), maxStepName)
	}

	if _, err := c.OrdersTable.mapping(); err != nil {
		faults = append(faults, err)
	}

	if err := c.Parts.validate(c); err != nil {
		faults = append(faults, err)
	}

	require(isAdminListen(c.AdminListen), `admin-listen %q: must be HOST:PORT or "off"`, withoutUser(c.AdminListen))
	require(c.ReadyLag >= time.Second, "ready-lag %s: at least 1s", c.ReadyLag)
	require(c.StuckEvery <= 0 || c.StuckEvery >= time.Minute, "stuck-every %s: at least 1m, or negative for never", c.StuckEvery)
	require(c.AuditRetention >= 24*time.Hour, "audit-retention %s: at least 24h", c.AuditRetention)

	if err := c.Tracing.validate(); err != nil {
		faults = append(faults, err)
	}

	if err := errors.Join(c.API.validate(), c.Console.validate(c.API.Issuer), c.Network.validate()); err != nil {
		faults = append(faults, err)
	}

	return errors.Join(faults...)
}

// withoutUser returns a value of a setting as an error may show it: what stands before an @ may be a password.
func withoutUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}

	scheme, _, found := strings.Cut(text[:at], "://")
	if !found {
		return "…" + text[at:]
	}

	return scheme + "://…" + text[at:]
}

func isHTTPURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isURL reports whether the text is a queue's URL and not its name.
func isURL(text string) bool { return strings.Contains(text, "://") }

func journalModes() []string {
	return []string{transitions.JournalByStream.String(), transitions.JournalTransactional.String()}
}

// webhookReaches returns the valid values of Config.WebhookReach. The empty one means the default.
func webhookReaches() []string {
	return []string{"", string(webhooks.ReachPublic), string(webhooks.ReachLoopback), string(webhooks.ReachPrivate)}
}

const notifyRule = `notify %q: must be "log", "none", "file:FILE", "dir:DIR" or an http(s) URL`

func isNotifyTarget(target string) bool {
	switch kind, rest, _ := strings.Cut(target, ":"); kind {
	case "log", "none":
		return rest == ""
	case "file", "dir", "http", "https":
		return rest != ""
	}

	return false
}

// ordersConfig returns the configuration of the orders without clients and tables.
func (c Config) ordersConfig(f *flow) transitions.Config {
	cfg := transitions.Config{Definition: f.definition, Versions: c.AcceptVersions, JournalOwn: c.JournalOwn}
	cfg.Mapping, _ = c.OrdersTable.mapping() // validated
	if c.Journal == transitions.JournalTransactional.String() {
		cfg.Journal = transitions.JournalTransactional
	}

	return cfg
}
