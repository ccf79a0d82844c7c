package server

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"ratchet/transitions"
	"ratchet/webhooks"
	"ratchet/workflow/file"
)

// Config says where Ratchet's data is and how its parts behave. The zero value
// runs: embedded engine, data in .ratchet.
type Config struct {
	// EndpointURL is a compatible endpoint for all three services, like
	// http://127.0.0.1:8700. Empty: AWS when a region is configured, the embedded
	// engine otherwise.
	EndpointURL string `koanf:"endpoint-url"`
	// Data is the embedded engine's directory. Default ".ratchet".
	Data string `koanf:"data"`
	// Listen is where `ratchet dev` serves the engine. Default 127.0.0.1:8700.
	Listen string `koanf:"listen"`
	// Prefix begins the names of tables, activities and the state machine.
	// Default "ratchet-".
	Prefix string `koanf:"prefix"`
	// RoleARN is the role of the state machine on AWS. The engine needs none.
	RoleARN string `koanf:"role-arn"`
	// Notify is where notifications go: "log"; "file:FILE", one line of JSON each;
	// "dir:DIR", one file each, which honours the notification's key; or an http(s)
	// URL, which needs WebhookSecret. Default "log".
	Notify string `koanf:"notify"`
	// WebhookSecret signs webhooks: "whsec_" and base64, or 24 to 64 bytes of text; the
	// new one and the old one, separated by a space, while it is being changed. It is
	// never printed.
	WebhookSecret string `koanf:"webhook-secret"`
	// CallbackSecret verifies what the payment processor sends, in the same form. Empty:
	// every callback is refused. It is never printed.
	CallbackSecret string `koanf:"callback-secret"`
	// WebhookReach is how far webhooks go: "public", "loopback" or "private", see
	// webhooks.Reach. Default: loopback where the data is on this machine, else public.
	WebhookReach string `koanf:"webhook-reach"`
	// Journal says who writes the orders' journal: "stream" (the reader of the stream,
	// the default) or "transactional" (each transition itself, see
	// [transitions.JournalMode]).
	Journal string `koanf:"journal"`
	// OrderDefinition is the file (YAML or JSON, see package workflow/file) of what orders may
	// do. Default: [workflow.Order].
	OrderDefinition string `koanf:"order-definition"`
	// AcceptVersions are other versions of the definition whose orders may be moved as
	// they are (see [transitions.Config]).
	AcceptVersions []int `koanf:"accept-versions"`
	// ActionKeys sign the ids of one-time actions and hash their PINs: VERSION:BASE64, the
	// signing one first, then older ones (`ratchet actions key` makes one). Empty: the
	// keys in the data directory, where there is one; on AWS there are none. Never printed.
	ActionKeys string `koanf:"action-keys"`
	// RequestsQueue is the SQS queue that transition requests come by, its URL or its
	// name; a name is created by Init. Empty: none. See queues/requests.
	RequestsQueue string `koanf:"requests-queue"`
	// Slots is how many tasks of one activity a worker holds at once, and how
	// many requests from the queue. Default 32.
	Slots int `koanf:"slots"`
	// DeclinePercent and TimeoutPercent are how the sandbox gateway behaves, 0 to 100.
	DeclinePercent int `koanf:"decline-percent"`
	TimeoutPercent int `koanf:"timeout-percent"`
	// EffectLease is how long a worker may take for one effect; after that another one
	// repeats it under the same key. It must be longer than a webhook's time-out
	// (15 s) when webhooks are used. Default 20 s.
	EffectLease time.Duration `koanf:"effect-lease"`
	// CarrierDelay is how long the sandbox carrier takes to ship, and again to
	// deliver. Default 2 s.
	CarrierDelay time.Duration `koanf:"carrier-delay"`
	// API is about the HTTP API.
	API API `koanf:",squash"`
}

// DefaultListen is where `ratchet dev` serves unless told otherwise.
const DefaultListen = "127.0.0.1:8700"

// WithDefaults returns the configuration with every empty field filled.
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
	fill(&c.Journal, transitions.JournalByStream.String())
	fill(&c.RoleARN, "arn:aws:iam::000000000000:role/ratchet")

	if c.Slots == 0 {
		c.Slots = 32
	}

	if c.EffectLease == 0 {
		c.EffectLease = 20 * time.Second
	}

	if c.CarrierDelay == 0 {
		c.CarrierDelay = 2 * time.Second
	}
	c.API = c.API.withDefaults()

	return c
}

var prefixRule = regexp.MustCompile(`^[A-Za-z0-9_-]{0,40}$`)

// Validate names the first field that breaks a rule, and the rule. It expects
// defaults to be filled.
func (c Config) Validate() error {
	if c.EndpointURL != "" {
		u, err := url.Parse(c.EndpointURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("endpoint-url %q: must be http://HOST:PORT or https://HOST", c.EndpointURL)
		}
	}

	switch {
	case !prefixRule.MatchString(c.Prefix):
		return fmt.Errorf("prefix %q: at most 40 of A-Z a-z 0-9 _ -", c.Prefix)
	case c.Journal != transitions.JournalByStream.String() && c.Journal != transitions.JournalTransactional.String():
		return fmt.Errorf(`journal %q: must be "stream" or "transactional"`, c.Journal)
	case c.RequestsQueue != "" && !strings.Contains(c.RequestsQueue, "://") && !queueNameRule.MatchString(c.RequestsQueue):
		return fmt.Errorf(requestsQueueRule, c.RequestsQueue)
	case c.Slots < 1 || c.Slots > 1000:
		return fmt.Errorf("slots %d: 1 to 1000", c.Slots)
	case c.DeclinePercent < 0 || c.DeclinePercent > 100:
		return fmt.Errorf("decline-percent %d: 0 to 100", c.DeclinePercent)
	case c.TimeoutPercent < 0 || c.TimeoutPercent > 100:
		return fmt.Errorf("timeout-percent %d: 0 to 100", c.TimeoutPercent)
	case c.EffectLease < time.Second || c.EffectLease > time.Hour:
		return fmt.Errorf("effect-lease %s: 1s to 1h", c.EffectLease)
	case c.CarrierDelay < 0:
		return errors.New("carrier-delay: must not be negative")
	}

	if !slices.Contains([]string{"", string(webhooks.ReachPublic), string(webhooks.ReachLoopback), string(webhooks.ReachPrivate)}, c.WebhookReach) {
		return fmt.Errorf("webhook-reach %q: public, loopback or private", c.WebhookReach)
	}

	switch kind, rest, _ := strings.Cut(c.Notify, ":"); kind {
	case "log", "file", "dir", "http", "https":
		if (kind == "log") != (rest == "") {
			return fmt.Errorf(notifyRule, c.Notify)
		}
	default:
		return fmt.Errorf(notifyRule, c.Notify)
	}

	return c.API.validate()
}

// ErrDefinition: the file that Config.OrderDefinition names cannot be read, or is no
// definition.
var ErrDefinition = errors.New("order-definition")

// orders is the configuration of the orders, clients and tables aside.
func (c Config) orders() (transitions.Config, error) {
	cfg := transitions.Config{Versions: c.AcceptVersions}
	if c.Journal == transitions.JournalTransactional.String() {
		cfg.Journal = transitions.JournalTransactional
	}

	if c.OrderDefinition == "" {
		return cfg, nil
	}

	text, err := os.ReadFile(c.OrderDefinition)
	if err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrDefinition, err)
	}

	cfg.Definition, err = file.Parse(c.OrderDefinition, text)
	if err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrDefinition, err)
	}

	return cfg, nil
}

const notifyRule = `notify %q: must be "log", "file:FILE", "dir:DIR" or an http(s) URL`
