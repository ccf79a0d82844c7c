package transitions

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Cause says why a transition was requested, and by whom. All fields are optional. It is no part of
// the request's content: a retry may have another cause and is Replayed, with the cause that was
// stored first.
//
// The order's ring keeps the codes of its newest transitions. The other fields stand on the order's
// item for the newest transition only; the journal keeps all of them for every transition.
type Cause struct {
	// Code is for programs, like "out-of-stock": 1 to 32 characters of A-Z a-z 0-9 _ . -
	Code string `json:"code,omitempty"`
	// Text is for people: up to 1,000 bytes of UTF-8 without control characters. The stored text
	// is cut at a character, so that Text and Trace together have at most 104 bytes; a text that
	// was cut ends in "…". It is no place for personal data.
	Text string `json:"text,omitempty"`
	// Actor is who asked: 1 to 64 printable ASCII characters without spaces, like "key:2vq0" or
	// "cli:ada".
	Actor string `json:"actor,omitempty"`
	// Source names the way by which the request came, like "api", "cli", "execution" or "queue": 1
	// to 16 characters of A-Z a-z 0-9 _ . -
	Source string `json:"source,omitempty"`
	// Trace is the W3C traceparent of the request, of version 00: 55 characters.
	Trace string `json:"trace,omitempty"`
}

// The bounds of a cause. They keep an order within its write unit: see docs/operate/costs.md.
const (
	maxTextAndTrace = 104  // bytes that are stored
	maxTextBytes    = 1000 // bytes that a request may have
	cutMark         = "…"
)

var (
	codeRule   = newRule(32, func(c byte) bool { return strings.IndexByte(asciiLetters+"0123456789_.-", c) >= 0 })
	sourceRule = newRule(16, func(c byte) bool { return codeRule.allowed[c] })
	actorRule  = newRule(64, func(c byte) bool { return c > ' ' && c <= '~' })
	traceRule  = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)
)

// Validate returns an ErrInvalidRequest that names the first field that breaks a rule, and the
// rule. It does not repeat the text.
func (c Cause) Validate() error {
	switch {
	case c.Code != "" && !codeRule.holds(c.Code):
		return fmt.Errorf("%w: cause.code: 1 to 32 characters of A-Z a-z 0-9 _ . -", ErrInvalidRequest)
	case len(c.Text) > maxTextBytes || !utf8.ValidString(c.Text) || strings.ContainsFunc(c.Text, unicode.IsControl):
		return fmt.Errorf("%w: cause.text: at most %d bytes of UTF-8 without control characters", ErrInvalidRequest, maxTextBytes)
	case c.Actor != "" && !actorRule.holds(c.Actor):
		return fmt.Errorf("%w: cause.actor: 1 to 64 printable ASCII characters without spaces", ErrInvalidRequest)
	case c.Source != "" && !sourceRule.holds(c.Source):
		return fmt.Errorf("%w: cause.source: 1 to 16 characters of A-Z a-z 0-9 _ . -", ErrInvalidRequest)
	case c.Trace != "" && !ValidTrace(c.Trace):
		return fmt.Errorf("%w: cause.trace: a W3C traceparent of version 00", ErrInvalidRequest)
	}

	return nil
}

// validateOf validates the cause of a request for this order. The order's own execution is a
// valid actor, even if the order's id makes its name too long.
func (c Cause) validateOf(id OrderID) error {
	if c.Actor == ownExecution+string(id) {
		c.Actor = ownExecution
	}

	return c.Validate()
}

// ValidTrace reports whether the text is a W3C traceparent of version 00. An id of zeros is invalid.
func ValidTrace(text string) bool {
	return traceRule.MatchString(text) && text[3:35] != strings.Repeat("0", 32) && text[36:52] != strings.Repeat("0", 16)
}

// fitted returns the cause with as much of its text as is stored.
func (c Cause) fitted() Cause {
	room := maxTextAndTrace - len(c.Trace)
	if len(c.Text) <= room {
		return c
	}

	end := room - len(cutMark)
	// Back to the beginning of a character, which may have up to four bytes.
	for !utf8.RuneStart(c.Text[end]) {
		end--
	}
	c.Text = c.Text[:end] + cutMark

	return c
}

// brief returns the part of the cause that the ring keeps: its code.
func (c Cause) brief() Cause { return Cause{Code: c.Code} }

// WithoutPerson returns the parts of the cause that stay when a person is erased: the code and the
// source.
func (c Cause) WithoutPerson() Cause { return Cause{Code: c.Code, Source: c.Source} }

// hasDetails reports whether the cause has more than the ring keeps.
func (c Cause) hasDetails() bool { return c != c.brief() }

// causeAttribute is the attribute with the details of the newest transition's cause:
//
//	"<id> <source> <actor> <trace> <text>"
//
// with a dash for an empty field. The trace is in base64, because it counts in the size of every
// order. Another program that moves the order leaves the attribute as it is, so the id names the
// transition.
const causeAttribute = "cause"

// causeValue returns the value of causeAttribute for the order.
func (t Transition) causeValue(id OrderID) types.AttributeValue {
	return dynamo.S(strconv.FormatInt(int64(t.ID), 10) + " " + t.Cause.details(id))
}

// Traces reads the two images of a stream record. moved says whether the record reports a transition.
// If so, trace is the trace of its cause, and previous the trace of the transition before. Each is
// empty if it was not stored.
func (m Mapping) Traces(oldImage, newImage image) (trace, previous string, moved bool) {
	newImage, ofOrder := m.image(newImage, "")
	if !ofOrder {
		return "", "", false
	}
	oldImage, _ = m.image(oldImage, "")

	before, after := dynamo.Number(oldImage, "transitionId"), dynamo.Number(newImage, "transitionId")

	return traceIn(newImage, after), traceIn(oldImage, before), len(newImage) > 0 && after > before
}

func traceIn(item image, newest int64) string {
	var c Cause
	c.addDetails("", detailsOf(TransitionID(newest), dynamo.Text(item, causeAttribute)))

	return c.Trace
}

// setCause sets causeAttribute in the order's item, or removes it.
func (t Transition) setCause(item image, id OrderID) {
	delete(item, causeAttribute)

	if t.Cause.hasDetails() {
		item[causeAttribute] = t.causeValue(id)
	}
}

// detailsOf returns the details in the value of causeAttribute if they belong to the transition.
func detailsOf(t TransitionID, value string) string {
	id, details, _ := strings.Cut(value, " ")
	if id != strconv.FormatInt(int64(t), 10) {
		return ""
	}

	return details
}

// ownExecution is the actor of an order's own execution. It is stored without the order's id, which
// the order has anyway.
const ownExecution = "execution:"

// details returns everything but the code as a text, for a transition of the order.
func (c Cause) details(id OrderID) string {
	if c.Actor == ownExecution+string(id) {
		c.Actor = ownExecution
	}

	trace := ""
	if c.Trace != "" {
		// The trace was validated: three numbers in hexadecimal after the version.
		raw, _ := hex.DecodeString(strings.ReplaceAll(c.Trace[3:], "-", ""))
		trace = base64.RawURLEncoding.EncodeToString(raw)
	}

	return dashed(c.Source) + " " + dashed(c.Actor) + " " + dashed(trace) + " " + c.Text
}

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func undashed(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// addDetails is the inverse of details. A text of another format is ignored: no verdict depends on it.
func (c *Cause) addDetails(id OrderID, details string) {
	parts := strings.SplitN(details, " ", 4)
	if len(parts) < 4 {
		return
	}

	c.Source, c.Actor, c.Text = undashed(parts[0]), undashed(parts[1]), parts[3]
	if c.Actor == ownExecution {
		c.Actor += string(id)
	}

	// 16 bytes of trace id, 8 of parent id, 1 of flags.
	if raw, err := base64.RawURLEncoding.DecodeString(undashed(parts[2])); err == nil && len(raw) == 25 {
		text := hex.EncodeToString(raw)
		c.Trace = "00-" + text[:32] + "-" + text[32:48] + "-" + text[48:]
	}
}

// The attributes of a cause in the journal's row.
const (
	rowCode    = "code"
	rowDetails = "cause"
)

// addTo adds the cause to a row.
func (c Cause) addTo(row image, id OrderID) {
	if c.Code != "" {
		row[rowCode] = dynamo.S(c.Code)
	}

	if c.hasDetails() {
		row[rowDetails] = dynamo.S(c.details(id))
	}
}

// cause is the inverse of addTo.
func (r *reader) cause(row image) Cause {
	c := Cause{Code: r.optional(row, rowCode)}
	c.addDetails(OrderID(r.text(row, "orderId")), r.optional(row, rowDetails))

	return c
}
