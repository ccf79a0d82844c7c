package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"ratchet/internal/ids"
	"ratchet/payments"
	"ratchet/shipping"
)

// Carrier returns the carrier with a span of each call. If the carrier is a [shipping.Asker], the
// result is one, too.
func (t *Tracing) Carrier(c shipping.Carrier) shipping.Carrier {
	if t == nil || c == nil {
		return c
	}

	traced := tracedCarrier{c, t}
	// Callers look for Get and Hold by the type: the wrapper must not hide them, and must not invent them.
	asker, asks := c.(shipping.Asker)
	holder, holds := c.(shipping.Holder)

	switch {
	case asks && holds:
		return struct {
			tracedAsker
			tracedHolder
		}{tracedAsker{traced, asker}, tracedHolder{traced.call, holder}}
	case asks:
		return tracedAsker{traced, asker}
	case holds:
		return struct {
			tracedCarrier
			tracedHolder
		}{traced, tracedHolder{traced.call, holder}}
	}

	return traced
}

type tracedCarrier struct {
	shipping.Carrier

	tracing *Tracing
}

// Book is part of shipping.Carrier.
func (c tracedCarrier) Book(ctx context.Context, key, orderID string) (tracking string, err error) {
	ctx, end := c.call(ctx, "book", key)
	tracking, err = c.Carrier.Book(ctx, key, orderID)
	end(err)

	return tracking, err
}

// Cancel is part of shipping.Carrier.
func (c tracedCarrier) Cancel(ctx context.Context, key string) (left bool, err error) {
	ctx, end := c.call(ctx, "cancel", key)
	left, err = c.Carrier.Cancel(ctx, key)
	end(err)

	return left, err
}

// call begins the span of a call about the shipment with the effect key orderId/incarnation/transitionId/shipping.
func (c tracedCarrier) call(ctx context.Context, name, key string) (context.Context, func(error)) {
	var about []attribute.KeyValue

	// A key of another form is some caller's own, and becomes no attribute.
	order, rest, isKey := ids.Cut(key)
	if parts := strings.Split(rest, "/"); isKey && len(parts) == 3 && ids.Valid(order) {
		about = append(about, text(attrOrder, order))

		if id, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			about = append(about, number(attrTransition, id))
		}
	}

	return c.tracing.call(ctx, "carrier "+name, carrierSpan, about...)
}

type tracedAsker struct {
	tracedCarrier

	asker shipping.Asker
}

// Get is part of shipping.Asker.
func (c tracedAsker) Get(ctx context.Context, key string) (shipping.Shipment, error) {
	ctx, end := c.call(ctx, "get", key)
	shipment, err := c.asker.Get(ctx, key)
	end(err)

	return shipment, err
}

// tracedHolder has no other method of a carrier, so that it can stand beside a tracedAsker.
type tracedHolder struct {
	begin  func(ctx context.Context, name, key string) (context.Context, func(error))
	holder shipping.Holder
}

// Hold is part of shipping.Holder.
func (h tracedHolder) Hold(ctx context.Context, key string, at int64, held bool) (left bool, err error) {
	ctx, end := h.begin(ctx, "hold", key)
	left, err = h.holder.Hold(ctx, key, at, held)
	end(err)

	return left, err
}

// Processor returns the payment processor with a span of each call.
func (t *Tracing) Processor(p payments.Processor) payments.Processor {
	if t == nil {
		return p
	}

	return tracedProcessor{p, t}
}

type tracedProcessor struct {
	processor payments.Processor
	tracing   *Tracing
}

// Authorize is part of payments.Processor.
func (p tracedProcessor) Authorize(ctx context.Context, r payments.Request) (string, error) {
	return p.move(ctx, "authorize", r, p.processor.Authorize)
}

// Sale is part of payments.Processor.
func (p tracedProcessor) Sale(ctx context.Context, r payments.Request) (string, error) {
	return p.move(ctx, "sale", r, p.processor.Sale)
}

// Capture is part of payments.Processor.
func (p tracedProcessor) Capture(ctx context.Context, r payments.Request) (string, error) {
	return p.move(ctx, "capture", r, p.processor.Capture)
}

// Refund is part of payments.Processor.
func (p tracedProcessor) Refund(ctx context.Context, r payments.Request) (string, error) {
	return p.move(ctx, "refund", r, p.processor.Refund)
}

// Void is part of payments.Processor.
func (p tracedProcessor) Void(ctx context.Context, key string) error {
	ctx, end := p.tracing.call(ctx, "bank void", bankSpan)
	err := p.processor.Void(ctx, key)
	end(err)

	return err
}

// Lookup is part of payments.Processor.
func (p tracedProcessor) Lookup(ctx context.Context, key string) (payments.Operation, error) {
	ctx, end := p.tracing.call(ctx, "bank lookup", bankSpan)
	operation, err := p.processor.Lookup(ctx, key)
	end(err)

	return operation, err
}

func (p tracedProcessor) move(ctx context.Context, name string, r payments.Request, call func(context.Context, payments.Request) (string, error)) (string, error) {
	ctx, end := p.tracing.call(ctx, "bank "+name, bankSpan)
	reference, err := call(ctx, r)
	end(err)

	return reference, err
}

// call begins the span of a call to a far side.
func (t *Tracing) call(ctx context.Context, name string, kind Span, about ...attribute.KeyValue) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, name, kind.kind(), trace.WithAttributes(about...))
	return ctx, func(err error) { end(span, errorClass(err)) }
}

// Transport returns a transport that adds the traceparent of a request's context. A nil next stands
// for net/http's default transport.
func (t *Tracing) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}

	if next == nil {
		next = http.DefaultTransport
	}

	return tracingTransport{next}
}

type tracingTransport struct{ next http.RoundTripper }

// RoundTrip is part of http.RoundTripper.
func (t tracingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if parent := Traceparent(r.Context()); parent != "" {
		r = r.Clone(r.Context()) // a transport must not change its request
		r.Header.Set("Traceparent", parent)
	}

	return t.next.RoundTrip(r)
}
