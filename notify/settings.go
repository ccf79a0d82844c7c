package notify

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// ErrInvalid means that a setting or an argument breaks a rule. The text names both.
var ErrInvalid = errors.New("invalid endpoint")

// Format is the format of a message about a notification.
type Format string

// The formats.
const (
	// Standard is the body of Standard Webhooks: type, timestamp and data.
	Standard Format = "standard"
	// CloudEvents is CloudEvents 1.0 in structured mode.
	CloudEvents Format = "cloudevents"
)

// LatestVersion is the newest version of the data of a message.
const LatestVersion = 2

// The limits of settings.
const (
	MaxConcurrency = 64

	maxRate            = 10000 // per second
	defaultConcurrency = 8
	maxHeaders         = 16
	maxHeaderBytes     = 2048
	maxDescription     = 256
	maxDestination     = 2048
	maxTemplate        = 8 << 10
)

// Settings are the settings of an endpoint that its owner chooses.
type Settings struct {
	// Destination is where messages go, like https://example.com/hook. Package
	// notify/destination lists the kinds.
	Destination string `json:"destination"`
	// Description is for people, at most 256 bytes.
	Description string `json:"description,omitempty"`
	Filter      Filter `json:"filter,omitzero"`
	// Format is the format of the messages. Default Standard.
	Format Format `json:"format,omitempty"`
	// Version is the version of the data in a message, 1 to LatestVersion. Default 1.
	Version int `json:"version,omitempty"`
	// Ordered sends the notifications of an order in the sequence of its transitions: a delivery
	// begins when the order's delivery before it has ended. Other orders do not wait.
	Ordered bool `json:"ordered,omitempty"`
	// Rate is the most attempts per second of all workers together, up to 10,000. 0 means no limit.
	// Each worker has an equal share. When a worker starts or ends, the workers may exceed the rate
	// for about 10 s.
	Rate float64 `json:"rate,omitempty"`
	// Concurrency is the most attempts of one worker at the same time, 1 to 64. Default 8.
	Concurrency int `json:"concurrency,omitempty"`
	// Subject and Text are templates of an e-mail, with the syntax of text/template; see
	// notify/destination. Each has a default.
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"`
	// Headers are further headers of a webhook, at most 16. Their values may be secret, so
	// they are not part of the JSON.
	Headers map[string]string `json:"-"`
}

func (s Settings) withDefaults() Settings {
	if s.Format == "" {
		s.Format = Standard
	}

	if s.Version == 0 {
		s.Version = 1
	}

	if s.Concurrency == 0 {
		s.Concurrency = defaultConcurrency
	}

	return s
}

// check reports every field that breaks a rule. EndpointsConfig.CheckDestination checks the rules of
// the destination's kind.
func (s Settings) check() error {
	faults := s.Filter.check()
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
		}
	}

	require(s.Destination != "" && len(s.Destination) <= maxDestination, "destination: 1 to %d bytes, got %d", maxDestination, len(s.Destination))
	require(len(s.Description) <= maxDescription && isPrintable(s.Description), "description: at most %d printable bytes", maxDescription)
	require(s.Format == Standard || s.Format == CloudEvents, `format %q: "standard" or "cloudevents"`, s.Format)
	require(s.Version >= 1 && s.Version <= LatestVersion, "version %d: 1 to %d", s.Version, LatestVersion)
	require(s.Rate >= 0 && s.Rate <= maxRate, "rate %g: 0 to %d per second", s.Rate, maxRate)
	require(s.Concurrency >= 1 && s.Concurrency <= MaxConcurrency, "concurrency %d: 1 to %d", s.Concurrency, MaxConcurrency)
	require(len(s.Subject) <= maxTemplate && len(s.Text) <= maxTemplate, "subject and text: at most %d bytes each", maxTemplate)
	require(len(s.Headers) <= maxHeaders, "headers: %d, at most %d", len(s.Headers), maxHeaders)

	for name, value := range s.Headers {
		require(isOwnHeader(name), "header %q: a name of letters, digits and '-' that neither HTTP nor the signature uses", name)
		require(len(value) <= maxHeaderBytes && isPrintable(value), "header %s: at most %d printable bytes", name, maxHeaderBytes)
	}

	return errors.Join(faults...)
}

// reserved are the headers that each message sets, and headers that change how HTTP transports a
// message.
var reserved = map[string]bool{
	"Host": true, "Content-Length": true, "Content-Type": true, "Content-Encoding": true, "Transfer-Encoding": true,
	"Connection": true, "Upgrade": true, "Te": true, "Trailer": true, "Expect": true, "Keep-Alive": true, "Proxy-Connection": true,
	"Webhook-Id": true, "Webhook-Timestamp": true, "Webhook-Signature": true, "Idempotency-Key": true, "User-Agent": true,
	"Cookie": true, "Forwarded": true, "Via": true, "Origin": true, "Referer": true, "Http2-Settings": true, "Max-Forwards": true,
	"True-Client-Ip": true, "Cf-Connecting-Ip": true, "Cf-Connecting-Ipv6": true, "Fastly-Client-Ip": true,
	"X-Real-Ip": true, "X-Client-Ip": true, "X-Cluster-Client-Ip": true, "X-Remote-User": true,
}

// reservedPrefixes begin the names of headers by which services and proxies take someone for another: the engine and
// AWS decide by X-Amz- what a request asks for.
var reservedPrefixes = []string{"X-Amz-", "X-Amzn-", "X-Ratchet-", "X-Forwarded", "X-Original-", "X-Rewrite-", "X-Http-Method", "X-Envoy-", "Proxy-", "Sec-"}

// isOwnHeader reports whether an endpoint may set the header.
func isOwnHeader(name string) bool {
	valid := name != "" && len(name) <= 64
	for _, r := range name {
		valid = valid && (r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}

	// Header names ignore case, so they are compared in one spelling.
	canonical := http.CanonicalHeaderKey(name)

	return valid && !reserved[canonical] && !slices.ContainsFunc(reservedPrefixes, func(prefix string) bool {
		return strings.HasPrefix(canonical, prefix)
	})
}

func isPrintable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
