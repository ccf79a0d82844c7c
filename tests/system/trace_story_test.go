package system

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"ratchet/notify/webhooks"
	"ratchet/operate/telemetry"
)

const (
	buyer  = "4bf92f3577b34da6a3ce929d0e0e4736" // the trace of the request that places o-1
	clerk  = "0af7651916cd43dd8448eb211c80319c" // the trace of the request that cancels o-2
	caller = "00f067aa0ba902b7"                 // a span of theirs
)

// personal are texts that no span may hold.
var personal = []string{"Mustermann", "Heidestrasse", "Geburtstag", "customer-4711", "reference-0815", "whsec_"}

const (
	stock  = `{"available":5}`
	placed = `{"items":[{"sku":"mug","quantity":1,"price":1250}],"total":{"amount":1250,"currency":"EUR"},"customer":"customer-4711",` +
		`"reference":"reference-0815","shippingAddress":{"name":"Erika Mustermann","street":"Heidestrasse 17"},"metadata":{"note":"Geburtstag"}%s}`
)

// TestOneTracePerTransition: a server and a worker bring one order to its end, and another one is
// canceled, whose endpoint refuses the first message about it.
func TestOneTracePerTransition(t *testing.T) {
	engine := serveEngine(t)
	receiver := startProcess(t, "receiver", nil).first
	endpoint := startEndpoint(t, "o-2")
	env := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver,
		"OTEL_BSP_SCHEDULE_DELAY=100",
		"RATCHET_LOG_LEVEL=debug",
		"RATCHET_WEBHOOK_SECRET=" + webhooks.NewSecret().Reveal(),
	}

	start := func(args ...string) (*process, string) {
		p := startProcess(t, "ratchet", env, append(args, "--json", "--endpoint-url", engine, "--admin-listen", "127.0.0.1:0")...)
		return p, p.api(t)
	}

	serve, api := start("serve", "--dev", "--api-listen", "127.0.0.1:0")
	start("worker", "--sandbox-carrier", "--carrier-delay", "1ms", "--notify", endpoint.url)

	ask(t, "PUT", api+"/v1/inventory/mug", stock, 200)
	ask(t, "PUT", api+"/v1/orders/o-2", fmt.Sprintf(placed, `,"execution":"none"`), 201)
	ask(t, "POST", api+"/v1/orders/o-2/transitions", `{"event":"cancel"}`, 200,
		"Idempotency-Key", "cancel-1", "Traceparent", "00-"+clerk+"-"+caller+"-01")
	ask(t, "PUT", api+"/v1/orders/o-1", fmt.Sprintf(placed, ""), 201, "Traceparent", "00-"+buyer+"-"+caller+"-01")

	// These are among the last spans that the worker makes. It would wait for its polls if it were
	// stopped.
	f := &forest{T: t}
	eventually(t, func() bool {
		f.all, _ = spans(t, receiver)

		return f.look(nil, "deliver", "ratchet.order.id", "o-2", "ratchet.attempt", "2") != nil &&
			f.look(nil, "deliver", "ratchet.order.id", "o-1", "ratchet.order.state", "DELIVERED") != nil
	})
	serve.stop(t) // it exports the rest

	var raw []byte
	f.all, raw = spans(t, receiver)

	t.Run("a request by HTTP to its retried delivery", func(t *testing.T) { f.with(t).checkCancel(endpoint) })
	t.Run("an activity to the carrier", func(t *testing.T) { f.with(t).checkPaid(endpoint) })
	t.Run("placing continues the caller's trace", func(t *testing.T) {
		f := f.with(t)
		f.child(f.child(f.root(buyer, caller, "PUT /v1/orders/{orderId}"), "apply place"), "process orders", "ratchet.handler", "journal")
	})
	t.Run("nothing but the catalog, and nothing personal", func(t *testing.T) { f.with(t).checkCatalog(raw) })
	t.Run("a line of the log is in the trace of its request", func(t *testing.T) { f.with(t).checkLogs(receiver) })
	t.Run("the metrics count the same requests", func(t *testing.T) { f.with(t).checkMetrics(receiver) })
}

// forest is the spans of a test.
type forest struct {
	*testing.T

	all []*otlp.Span
}

func (f *forest) with(t *testing.T) *forest { return &forest{t, f.all} }

// checkCancel follows the request that cancels o-2.
func (f *forest) checkCancel(e *endpoint) {
	request := f.root(clerk, caller, "POST /v1/orders/{orderId}/transitions")
	apply := f.child(request, "apply cancel")
	record := f.child(apply, "process orders", "ratchet.handler", "notify")
	reaction := f.child(record, "reaction notify")
	first := f.child(reaction, "deliver", "ratchet.attempt", "1")
	retry := f.child(apply, "deliver", "ratchet.attempt", "2")

	f.has(request, "http.response.status_code", "200")
	f.has(apply, "ratchet.verdict", "Applied")
	f.has(apply, "ratchet.transition.id", "2")
	f.has(record, "ratchet.attempt", "1")
	f.has(first, "error.type", "500")
	f.has(first, "ratchet.endpoint.id", "configured")
	f.has(retry, "http.response.status_code", "200")

	if len(first.GetLinks()) != 0 || first.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
		f.Errorf("the first attempt: %v", first)
	}

	links := retry.GetLinks()
	if len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), first.GetSpanId()) || !bytes.Equal(links[0].GetTraceId(), first.GetTraceId()) {
		f.Errorf("the links of the retry are %v, want one to %x", links, first.GetSpanId())
	}

	if got, want := e.got("o-2 CANCELLED"), []string{parent(first), parent(retry)}; !slices.Equal(got, want) {
		f.Errorf("the endpoint got %q, want %q", got, want)
	}
}

// checkPaid follows the attempt of the activity that pays o-1.
func (f *forest) checkPaid(e *endpoint) {
	activity := f.find(nil, "activity pay", "ratchet.order.id", "o-1")
	apply := f.child(activity, "apply pay")
	record := f.child(apply, "process orders", "ratchet.handler", "shipping")
	f.child(f.child(record, "reaction shipping"), "carrier book", "ratchet.order.id", "o-1")
	told := f.child(f.child(f.child(apply, "process orders", "ratchet.handler", "notify"), "reaction notify"), "deliver")

	f.child(activity, "bank sale")
	f.child(apply, "DynamoDB.UpdateItem", "aws.dynamodb.table_names", "ratchet-orders")

	if len(activity.GetParentSpanId()) != 0 {
		f.Errorf("the attempt has a parent: %v", activity)
	}

	// From transition to transition there is a link.
	place := f.find(nil, "apply place", "ratchet.order.id", "o-1", "ratchet.verdict", "Applied")
	if links := record.GetLinks(); len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), place.GetSpanId()) {
		f.Errorf("the links of the record are %v, want one to %x", links, place.GetSpanId())
	}

	if got := e.got("o-1 PAYMENT_RECEIVED"); len(got) == 0 || got[0] != parent(told) {
		f.Errorf("the endpoint got %q, want %q", got, parent(told))
	}
}

// checkCatalog compares names, kinds and attributes with telemetry.Spans, and looks for personal data in
// the bytes themselves.
func (f *forest) checkCatalog(raw []byte) {
	f.holdsNothingPersonal("the traces", raw)

	for _, span := range f.all {
		known := describe(span)
		if known == nil {
			f.Errorf("%s (%s) is not in the catalog", span.GetName(), span.GetKind())
			continue
		}

		for _, a := range span.GetAttributes() {
			if !slices.Contains(known.Attributes, a.GetKey()) {
				f.Errorf("%s has the attribute %s", span.GetName(), a.GetKey())
			}
		}
	}
}

var varies = regexp.MustCompile(`\\\{\w+\\\}`)

// describe returns the kind of span in the catalog, nil if there is none.
func describe(span *otlp.Span) *telemetry.Span {
	for _, known := range telemetry.Spans() {
		name := varies.ReplaceAllString(regexp.QuoteMeta(known.Name), `[^ ]+`)
		kind := "SPAN_KIND_" + strings.ToUpper(known.Kind)

		if regexp.MustCompile("^"+name+"$").MatchString(span.GetName()) && span.GetKind().String() == kind {
			return &known
		}
	}

	return nil
}

// root returns the span of a trace whose parent is the caller's.
func (f *forest) root(trace, callersSpan, name string) *otlp.Span {
	f.Helper()

	caller := &otlp.Span{}
	caller.TraceId, _ = hex.DecodeString(trace)
	caller.SpanId, _ = hex.DecodeString(callersSpan)

	return f.find(caller, name)
}

// child returns the child of a span with this name and these attributes.
func (f *forest) child(parent *otlp.Span, name string, attributes ...string) *otlp.Span {
	f.Helper()

	return f.find(parent, name, attributes...)
}

// find returns the first span that fits; a nil parent fits all.
func (f *forest) find(parent *otlp.Span, name string, attributes ...string) *otlp.Span {
	f.Helper()

	span := f.look(parent, name, attributes...)
	if span == nil {
		f.Fatalf("no span %s %v below %s (%x); there are:\n%s", name, attributes, parent.GetName(), parent.GetSpanId(), f.list())
	}

	return span
}

// look is find, nil if no span fits.
func (f *forest) look(parent *otlp.Span, name string, attributes ...string) *otlp.Span {
	for _, span := range f.all {
		if parent != nil && (!bytes.Equal(span.GetParentSpanId(), parent.GetSpanId()) || !bytes.Equal(span.GetTraceId(), parent.GetTraceId())) {
			continue
		}

		fits := span.GetName() == name
		for i := 0; i+1 < len(attributes); i += 2 {
			fits = fits && valueOf(span, attributes[i]) == attributes[i+1]
		}

		if fits {
			return span
		}
	}

	return nil
}

func (f *forest) has(span *otlp.Span, attribute, want string) {
	f.Helper()

	if got := valueOf(span, attribute); got != want {
		f.Errorf("%s has %s=%q, want %q", span.GetName(), attribute, got, want)
	}
}

func (f *forest) list() string {
	var out strings.Builder
	for _, span := range f.all {
		fmt.Fprintf(&out, "%x %x < %x %s %v\n", span.GetTraceId(), span.GetSpanId(), span.GetParentSpanId(), span.GetName(), span.GetAttributes())
	}

	return out.String()
}

// valueOf returns an attribute as text, "" if the span does not have it.
func valueOf(span *otlp.Span, name string) string { return attributeText(span.GetAttributes(), name) }

// parent returns the traceparent that the span sends to the outside.
func parent(span *otlp.Span) string {
	return fmt.Sprintf("00-%x-%x-01", span.GetTraceId(), span.GetSpanId())
}
