// Package wire speaks AWS JSON 1.0: one POST per call, the operation named by
// the X-Amz-Target header ("DynamoDB_20120810.PutItem"), errors as a JSON
// object with "__type" and a message.
// Rule: https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBody is the largest request body read: DynamoDB's own limit for one
// request (BatchWriteItem, TransactWriteItems) is 16 MB.
const MaxBody = 16 << 20

// Operation answers one call. It returns the JSON answer, either ready as
// json.RawMessage or as a value to marshal; or an *Error, which is the
// service's own refusal; or any other error, which becomes InternalServerError.
type Operation func(ctx context.Context, body []byte) (any, error)

// Service is one AWS service behind the endpoint.
type Service struct {
	// Target is the part of X-Amz-Target before the dot, like "DynamoDB_20120810".
	Target string
	// ErrorPrefix goes before the error's name in "__type", like
	// "com.amazonaws.dynamodb.v20120810#". Empty for Step Functions.
	ErrorPrefix string
	// MessageKey is the member that holds an error's text: "message" or "Message".
	MessageKey string
	// InternalError is the name of the service's own server fault.
	InternalError string
	// QueryCode gives the name that an error has in the service's older Query
	// protocol, which goes into the header X-Amzn-Query-Error. Nil: the service never
	// had one.
	QueryCode  func(errorType string) string
	Operations map[string]Operation
}

// Error is a refusal in the service's own words.
type Error struct {
	// Type is the exception's name, like "ConditionalCheckFailedException".
	Type string
	// Prefix replaces the service's ErrorPrefix when set, as DynamoDB does for
	// "com.amazon.coral.validate#ValidationException".
	Prefix  string
	Message string
	// Status is the HTTP status; 0 means 400.
	Status int
	// Members are further members of the error's shape, like "Item" or
	// "CancellationReasons"; values are marshalled as they are.
	Members map[string]any

	cause error
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Unwrap returns what made Decode fail.
func (e *Error) Unwrap() error { return e.cause }

// Errorf builds a refusal with status 400.
func Errorf(typ, format string, args ...any) *Error {
	return &Error{Type: typ, Message: fmt.Sprintf(format, args...)}
}

// Handler serves the services on one endpoint.
type Handler struct {
	services map[string]Service
	log      *slog.Logger
	requests atomic.Uint64
}

// NewHandler returns an http.Handler for the services.
func NewHandler(log *slog.Logger, services ...Service) *Handler {
	h := &Handler{services: map[string]Service{}, log: log}
	for _, s := range services {
		h.services[s.Target] = s
	}

	return h
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strconv.FormatUint(h.requests.Add(1), 36)

	w.Header()["X-Amzn-Requestid"] = []string{id}
	target, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service, ok := h.services[target]
	if r.Method != http.MethodPost || !ok {
		h.refuse(w, Service{MessageKey: "message"}, id, Errorf("UnknownOperationException",
			"this endpoint takes POST with X-Amz-Target naming one of DynamoDB_20120810, DynamoDBStreams_20120810, AWSStepFunctions, AmazonSQS"))
		return
	}

	call, ok := service.Operations[operation]
	if !ok {
		h.refuse(w, service, id, Errorf("UnknownOperationException",
			"%s.%s is not supported by the embedded engine", target, operation))
		return
	}

	body, err := readBody(w, r)
	if err != nil {
		h.refuse(w, service, id, &Error{Type: "SerializationException", Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the request body could not be read: %v", err)})
		return
	}

	answer, err := call(r.Context(), body)
	if err != nil {
		h.refuse(w, service, id, err)
		return
	}

	raw, ok := answer.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(answer); err != nil {
			h.refuse(w, service, id, fmt.Errorf("marshal the answer of %s: %w", operation, err))
			return
		}
	}
	send(w, http.StatusOK, raw)
}

// refuse answers with the error's own shape; what is not an *Error is the
// engine's fault and its text stays in the log.
func (h *Handler) refuse(w http.ResponseWriter, s Service, id string, err error) {
	var e *Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) { // the caller has gone, or the engine is closing
			e = &Error{Type: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Message: "the call was cancelled"}
		} else {
			h.log.Error("engine fault", "request", id, "error", err)
			e = &Error{Type: s.InternalError, Status: http.StatusInternalServerError,
				Message: "the embedded engine failed; its log has the cause under request " + id}
		}
	}

	prefix, status := s.ErrorPrefix, e.Status
	if e.Prefix != "" {
		prefix = e.Prefix
	}

	if status == 0 {
		status = http.StatusBadRequest
	}

	if s.QueryCode != nil {
		side := "Sender"
		if status >= http.StatusInternalServerError {
			side = "Receiver"
		}
		w.Header().Set("X-Amzn-Query-Error", s.QueryCode(e.Type)+";"+side)
	}
	send(w, status, e.body(prefix, s.MessageKey))
}

// body is the error's JSON. Refusals are as hot as answers where callers race
// for the same item, so it goes without reflection as far as it can.
func (e *Error) body(prefix, messageKey string) []byte {
	size := 64 + len(e.Message)
	for _, m := range e.Members {
		if raw, ok := m.(json.RawMessage); ok {
			size += len(raw) + 32
		}
	}

	b := appendText(append(make([]byte, 0, size), `{"__type":`...), prefix+e.Type)
	if messageKey != "" {
		b = appendText(append(appendText(append(b, ','), messageKey), ':'), e.Message)
	}

	for name, member := range e.Members {
		raw, ok := member.(json.RawMessage)
		if !ok {
			var err error
			if raw, err = json.Marshal(member); err != nil {
				continue // an error that cannot be told in full is still told
			}
		}
		b = append(append(appendText(append(b, ','), name), ':'), raw...)
	}

	return append(b, '}')
}

// appendText appends s as a JSON string; what is not UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// readBody reads the whole request body, in one piece when its length is known.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= MaxBody {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}

	return io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
}

// contentType is shared by all answers; nobody writes into it.
var contentType = []string{"application/x-amz-json-1.0"}

// send writes an answer. The body is then the writer's.
func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	values := []string{strconv.Itoa(len(body)), strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)}
	h["Content-Type"], h["Content-Length"], h["X-Amz-Crc32"] = contentType, values[:1:1], values[1:]
	w.WriteHeader(status)

	if local, ok := w.(*response); ok {
		local.give(body)
		return
	}
	_, _ = w.Write(body) // a caller that has gone is its own answer
}
