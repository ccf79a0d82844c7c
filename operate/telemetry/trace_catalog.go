package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The names of attributes. Names without the prefix ratchet are OpenTelemetry's semantic
// conventions.
const (
	attrOrder      = "ratchet.order.id"
	attrTransition = "ratchet.transition.id"
	attrEvent      = "ratchet.event"
	attrState      = "ratchet.order.state"
	attrVerdict    = "ratchet.verdict"
	attrActivity   = "ratchet.activity"
	attrHandler    = "ratchet.handler"
	attrEndpoint   = "ratchet.endpoint.id"
	attrAttempt    = "ratchet.attempt"
	attrLink       = "ratchet.link" // of a link

	attrError       = "error.type"
	attrHTTPMethod  = "http.request.method"
	attrHTTPRoute   = "http.route"
	attrHTTPStatus  = "http.response.status_code"
	attrMessaging   = "messaging.system"
	attrOperation   = "messaging.operation.type"
	attrPartition   = "messaging.destination.partition.id"
	attrMessage     = "messaging.message.id"
	attrBatchCount  = "messaging.batch.message_count"
	attrRPCSystem   = "rpc.system"
	attrRPCService  = "rpc.service"
	attrRPCMethod   = "rpc.method"
	attrRPCTables   = "aws.dynamodb.table_names"
	valueRPCSystem  = "aws-api"
	valueMessaging  = "aws_dynamodb_streams"
	valueProcessing = "process"
	valueSQS        = "aws_sqs"
	valueSending    = "send"
)

// Span describes one kind of span.
type Span struct {
	// Name has the varying parts in braces, as in "apply {event}".
	Name string
	// Kind is a kind of OpenTelemetry: server, client, producer, consumer or internal.
	Kind string
	// Attributes are the names of all attributes that the span may have.
	Attributes []string
	// Meaning is a sentence without a period.
	Meaning string
}

var (
	httpSpan     = Span{"{method} {route}", "server", []string{attrHTTPMethod, attrHTTPRoute, attrHTTPStatus, attrError}, "A request of the HTTP API, in the trace of its traceparent; error.type is the status, from 500 on"}
	sendSpan     = Span{"send requests", "producer", []string{attrOrder, attrMessaging, attrOperation, attrError}, "A request is sent to the requests' queue, with the span as the message's traceparent"}
	requestSpan  = Span{"process requests", "consumer", []string{attrAttempt, attrOrder, attrMessaging, attrOperation, attrMessage, attrError}, "A receive of a request from the requests' queue; ratchet.attempt is SQS's approximate count of receives"}
	applySpan    = Span{"apply {event}", "internal", []string{attrOrder, attrTransition, attrEvent, attrState, attrVerdict, attrError}, "The decision on a transition request; placing an order is the event of that name"}
	activitySpan = Span{"activity {activity}", "consumer", []string{attrActivity, attrOrder, attrTransition, attrError}, "An attempt of an activity's task; the transition is the one that it is to make"}
	recordSpan   = Span{"process orders", "consumer", []string{attrHandler, attrAttempt, attrOrder, attrTransition, attrMessaging, attrOperation, attrPartition, attrMessage, attrError}, "A call of a handler of the orders' stream about a transition"}
	batchSpan    = Span{"process orders batch", "consumer", []string{attrHandler, attrMessaging, attrOperation, attrBatchCount}, "A call of a handler that takes several records, linked to their transitions"}
	reactionSpan = Span{"reaction {handler}", "internal", []string{attrHandler, attrOrder, attrTransition, attrEvent, attrState, attrError}, "What a built-in handler does about a transition"}
	deliverySpan = Span{"deliver", "client", []string{attrEndpoint, attrAttempt, attrOrder, attrTransition, attrState, attrHTTPStatus, attrError}, "An attempt to deliver a notification; error.type is the status, if there is one"}
	carrierSpan  = Span{"carrier {call}", "client", []string{attrOrder, attrTransition, attrError}, "A call of the carrier: book, cancel or get"}
	bankSpan     = Span{"bank {call}", "client", []string{attrError}, "A call of the payment processor: authorize, sale, capture, refund, void or lookup"}
	awsSpan      = Span{"{service}.{operation}", "client", []string{attrRPCSystem, attrRPCService, attrRPCMethod, attrRPCTables, attrError}, "A call of AWS, with its retries, by one of the others"}
)

// Spans lists every kind of span that a process makes.
func Spans() []Span {
	return []Span{httpSpan, sendSpan, requestSpan, applySpan, activitySpan, recordSpan, batchSpan, reactionSpan, deliverySpan, carrierSpan, bankSpan, awsSpan}
}

// kind returns the option of Start for the kind.
func (s Span) kind() trace.SpanStartOption {
	switch s.Kind {
	case "server":
		return trace.WithSpanKind(trace.SpanKindServer)
	case "client":
		return trace.WithSpanKind(trace.SpanKindClient)
	case "producer":
		return trace.WithSpanKind(trace.SpanKindProducer)
	case "consumer":
		return trace.WithSpanKind(trace.SpanKindConsumer)
	}

	return trace.WithSpanKind(trace.SpanKindInternal)
}

func text(name, value string) attribute.KeyValue { return attribute.String(name, value) }

func number[T ~int | ~int64](name string, value T) attribute.KeyValue {
	return attribute.Int64(name, int64(value))
}
