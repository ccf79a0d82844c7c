package destination

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"ratchet/notify"
	"ratchet/webhooks"
)

// ErrUnsupported means that a worker cannot send to a kind of destination.
var ErrUnsupported = errors.New("destination not supported")

// Opener opens the destinations of endpoints.
type Opener struct {
	// Reach limits the addresses of webhooks. Default webhooks.ReachPublic.
	Reach webhooks.Reach
	// Log is for the destination "log". Default slog.Default().
	Log *slog.Logger
	// SQS, SNS and EventBridge are the clients of AWS, and Mail is a server that was
	// validated. A destination whose client is nil is refused.
	SQS         sqsAPI
	SNS         snsAPI
	EventBridge eventBridgeAPI
	Mail        *MailServer
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
		err = fmt.Errorf("%.40q: must be %s", kind, kinds)
	}

	if err != nil {
		return fmt.Errorf("%w: destination: %w", notify.ErrInvalid, err)
	}

	return nil
}

const kinds = "https://…, sqs:QUEUE-URL, sns:TOPIC-ARN, eventbridge:BUS, mailto:ADDRESS or log"

func supported(ok bool, form string) error {
	if ok {
		return nil
	}

	return fmt.Errorf("%w: must be %s", ErrUnsupported, form)
}

func (o Opener) mailbox(e notify.Endpoint, to string) (notify.Destination, error) {
	if address, err := mail.ParseAddress(to); err != nil || address.Address != to {
		return nil, errors.New("mailto: must be one address, like orders@example.com")
	}

	templates, err := parseTemplates(e.Subject, e.Text)
	if err != nil {
		return nil, err
	}

	return mailbox{server: *o.Mail, to: to, templates: templates}, nil
}

// Open returns the destination of the endpoint.
func (o Opener) Open(e notify.Endpoint) (notify.Destination, error) {
	if err := o.Check(e); err != nil {
		return nil, err
	}

	switch kind, rest := kindOf(e.Destination); kind {
	case "http", "https":
		return o.webhook(e)
	case "log":
		return NewLog(o.Log), nil
	case "file":
		return OpenFile(rest)
	case "dir":
		return NewDir(rest)
	case "sqs":
		return queue{o.SQS, rest}, nil
	case "sns":
		return topic{o.SNS, rest}, nil
	case "eventbridge":
		return bus{o.EventBridge, rest}, nil
	case "mailto":
		return o.mailbox(e, rest)
	}

	return nil, fmt.Errorf("%w: %s", ErrUnsupported, e.ID)
}

func (o Opener) webhook(e notify.Endpoint) (notify.Destination, error) {
	keys, err := webhooks.New(webhooks.Config{Secrets: e.Signing(time.Now())})
	if err != nil {
		return nil, err
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: o.Reach})
	if err != nil {
		return nil, err
	}

	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}

	return NewWebhook(WebhookConfig{
		Client: client,
		URL:    e.Destination,
		Header: header,
		// What an internal service answers is not for the owner of an endpoint.
		HideAnswers: o.Reach == webhooks.ReachPrivate,
	})
}
