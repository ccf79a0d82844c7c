package destination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/mail"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/notify"
	"ratchet/notify/webhooks"
)

// ErrUnsupported means that a worker cannot send to a kind of destination.
var ErrUnsupported = errors.New("destination not supported")

// Opener opens the destinations of endpoints.
type Opener struct {
	// Reach limits the addresses of webhooks. Default webhooks.ReachPublic.
	Reach webhooks.Reach
	// Dialing is called before a webhook's connection is opened; see webhooks.ClientConfig.
	Dialing func(netip.AddrPort) error
	// HideAnswers says whether the text of a webhook's answer is dropped if Reach is not webhooks.ReachPublic: the owner
	// of an endpoint must not read the answers of an internal service. Default: only with
	// webhooks.ReachPrivate.
	HideAnswers func() bool
	// Traceparent returns the W3C traceparent that is sent with a message, "" for none. Webhooks get
	// it as a header, queues and topics as the message attribute "traceparent", buses as the trace
	// header in the form of X-Ray. Optional.
	Traceparent func(context.Context) string
	// Log is for the destination "log". Default slog.Default().
	Log *slog.Logger
	// SQS, SNS and EventBridge are the clients of AWS. Mail is a server for which Validate has
	// returned nil. A destination whose client or server is nil is refused.
	SQS         sqsAPI
	SNS         snsAPI
	EventBridge eventBridgeAPI
	Mail        *MailServer
	// Orders reads the orders for e-mails to their customers. Without it such destinations are
	// refused.
	Orders orders
	// Schemes are the program's own kinds of destinations, by the scheme before the colon.
	// CheckSchemes checks their names.
	Schemes map[string]Scheme
}

// Scheme is a program's own kind of destination.
type Scheme struct {
	// Check returns an error if the endpoint's destination breaks a rule of the kind. It is called
	// before the endpoint is stored or opened, and must not call other systems. Nil accepts every
	// text behind the colon.
	Check func(e notify.Endpoint) error
	// Open returns the destination of an endpoint that Check has accepted. Each process calls it
	// for the first attempt, and again after a change of the endpoint's settings or secrets.
	// Required.
	Open func(e notify.Endpoint) (notify.Destination, error)
}

// builtIn are the schemes of this package, and "none", which has a meaning in the setting notify.
var builtIn = []string{"http", "https", "log", "none", "file", "dir", "sqs", "sns", "eventbridge", "mailto"}

var schemeRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,31}$`) })

// CheckSchemes returns an error that names every scheme that breaks a rule.
func CheckSchemes(schemes map[string]Scheme) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		switch {
		case !schemeRule().MatchString(name):
			faults = append(faults, fmt.Errorf("destination scheme %q: must be 1 to 32 of a-z 0-9 + . -, beginning with a letter", name))
		case slices.Contains(builtIn, name):
			faults = append(faults, fmt.Errorf("destination scheme %q: is built in and cannot be replaced", name))
		case schemes[name].Open == nil:
			faults = append(faults, fmt.Errorf("destination scheme %q: Open must be set", name))
		}
	}

	return errors.Join(faults...)
}

// kindOf splits a destination into its kind and the rest.
func kindOf(destination string) (kind, rest string) {
	kind, rest, _ = strings.Cut(destination, ":")
	return kind, rest
}

// Check returns notify.ErrInvalid if the endpoint may not be stored: its destination is of an
// unknown kind, breaks a rule of its kind, or is a file, which only the configuration may name.
func (o Opener) Check(e notify.Endpoint) error {
	kind, rest := kindOf(e.Destination)

	var err error
	switch kind {
	case "http", "https":
		_, err = o.Reach.CheckURL(e.Destination)
	case "log":
		if rest != "" {
			err = errors.New(`"log" has nothing behind it`)
		}
	// Otherwise anyone who may create an endpoint through the API could write files on the worker's
	// disk.
	case "file", "dir":
		if !e.Configured {
			err = fmt.Errorf("%s: only in the setting `notify`", kind)
		}
	case "sqs":
		err = supported(o.SQS != nil && strings.HasPrefix(rest, "http"), "sqs:QUEUE-URL")
	case "sns":
		err = supported(o.SNS != nil && strings.HasPrefix(rest, "arn:"), "sns:TOPIC-ARN")
	case "eventbridge":
		err = supported(o.EventBridge != nil && rest != "", "eventbridge:BUS")
	case "mailto":
		if err = supported(o.Mail != nil, "mailto:ADDRESS, with the setting smtp-url"); err == nil {
			_, err = o.mailbox(e, rest)
		}
	default:
		err = o.checkOwn(e, kind)
	}

	if err != nil {
		return fmt.Errorf("%w: destination: %w", notify.ErrInvalid, err)
	}

	return nil
}

const kinds = "https://…, sqs:QUEUE-URL, sns:TOPIC-ARN, eventbridge:BUS, mailto:ADDRESS, mailto:{{TEMPLATE}} or log"

// checkOwn checks an endpoint whose destination is not of a built-in kind.
func (o Opener) checkOwn(e notify.Endpoint, kind string) error {
	scheme, own := o.Schemes[kind]
	switch {
	case !own:
		known := kinds
		for _, name := range slices.Sorted(maps.Keys(o.Schemes)) {
			known += ", or " + name + ":…"
		}

		return fmt.Errorf("%.40q: must be %s", kind, known)
	case scheme.Check != nil:
		return scheme.Check(e)
	}

	return nil
}

func supported(ok bool, form string) error {
	if ok {
		return nil
	}

	return fmt.Errorf("%w: must be %s", ErrUnsupported, form)
}

func (o Opener) mailbox(e notify.Endpoint, to string) (notify.Destination, error) {
	templates, err := parseTemplates(e.Subject, e.Text)
	if err != nil {
		return nil, err
	}

	if strings.Contains(to, "{{") {
		return o.customers(to, templates)
	}

	if address, err := mail.ParseAddress(to); err != nil || address.Address != to {
		return nil, errors.New("mailto: must be one address, like orders@example.com, or a template of the order's, like {{.Billing.email}}")
	}

	return mailbox{server: *o.Mail, to: to, templates: templates}, nil
}

// Open returns the destination of the endpoint, or [ErrUnsupported] if this worker cannot send there.
func (o Opener) Open(e notify.Endpoint) (notify.Destination, error) {
	// Checked again, because the settings of this worker may differ from those under which the
	// endpoint was stored.
	if err := o.Check(e); err != nil {
		return nil, err
	}

	switch kind, rest := kindOf(e.Destination); kind {
	case "http", "https":
		return o.webhook(e)
	case "log":
		return newLog(o.Log), nil
	case "file":
		return OpenFile(rest)
	case "dir":
		return NewDir(rest)
	case "sqs":
		return queue{o.SQS, rest, o.Traceparent}, nil
	case "sns":
		return topic{o.SNS, rest, o.Traceparent}, nil
	case "eventbridge":
		return bus{o.EventBridge, rest, o.Traceparent}, nil
	case "mailto":
		return o.mailbox(e, rest)
	default:
		return o.Schemes[kind].Open(e) // Check knows the kind
	}
}

func (o Opener) hidesAnswers() bool {
	if o.HideAnswers == nil {
		return o.Reach == webhooks.ReachPrivate
	}

	return o.Reach != webhooks.ReachPublic && o.HideAnswers()
}

func (o Opener) webhook(e notify.Endpoint) (notify.Destination, error) {
	keys, err := webhooks.New(webhooks.Config{Secrets: e.Signing(time.Now())})
	if err != nil {
		return nil, err
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: o.Reach, Dialing: o.Dialing})
	if err != nil {
		return nil, err
	}

	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}

	return newWebhook(webhookConfig{
		Client: client,
		URL:    e.Destination,
		Header: header,

		Traceparent: o.Traceparent,
		HideAnswers: o.hidesAnswers(),
	})
}
