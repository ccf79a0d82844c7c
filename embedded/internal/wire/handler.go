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
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// maxBody is the size in bytes of the largest request that the handler reads: 16 MB,
// DynamoDB's limit for one request (BatchWriteItem, TransactWriteItems).
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
const maxBody = 16 << 20

// Handler serves several services on one endpoint.
type Handler struct {
	services map[string]Service // by Target
	log      *slog.Logger
	requests atomic.Uint64
	arrivals *arrivals
}

// NewHandler returns an http.Handler for the services. log receives the engine's own
// faults.
func NewHandler(log *slog.Logger, services ...Service) *Handler {
	h := &Handler{services: map[string]Service{}, log: log, arrivals: newArrivals(maxArriving)}
	for _, s := range services {
		h.services[s.Target] = s
	}

	return h
}

// ServeHTTP answers one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strconv.FormatUint(h.requests.Add(1), 36)
	// Assigning to the map skips the canonicalization that Header.Set repeats per call.
	w.Header()["X-Amzn-Requestid"] = []string{id}

	target, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service, ok := h.services[target]
	if r.Method != http.MethodPost || !ok {
		if h.withoutTarget(w, r, id) {
			return
		}

		h.fail(w, r, Service{MessageKey: "message"}, id, Errorf("UnknownOperationException",
			"this endpoint takes POST with X-Amz-Target naming one of DynamoDB_20120810, DynamoDBStreams_20120810, AWSStepFunctions, AmazonSQS"))

		return
	}

	call, ok := service.Operations[operation]
	if !ok {
		h.fail(w, r, service, id, Errorf("UnknownOperationException",
			"%s.%s is not supported by the embedded engine", target, operation))
		return
	}

	body, err := h.readBody(w, r)
	if err != nil {
		h.fail(w, r, service, id, unread(err))

		return
	}

	ctx := r.Context()
	if slices.Contains(service.Addressed, operation) {
		ctx = withAddress(r)
	}

	answer, err := call(withTrace(ctx, r), body)
	if err != nil {
		if breakOff(w, err) {
			return
		}

		h.fail(w, r, service, id, err)

		return
	}

	raw, ok := answer.(json.RawMessage)
	if !ok {
		if raw, err = json.Marshal(answer); err != nil {
			h.fail(w, r, service, id, fmt.Errorf("marshal the answer of %s: %w", operation, err))
			return
		}
	}

	send(w, r, http.StatusOK, raw)
}

// withoutTarget answers requests that no service has: health checks, and the Query protocol. It reports whether
// the request is one of these.
func (h *Handler) withoutTarget(w http.ResponseWriter, r *http.Request, id string) bool {
	if r.Header["X-Amz-Target"] != nil {
		return false
	}

	if refuseQuery(w, r, id) {
		return true
	}

	if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}

	// Source: https://github.com/architect/dynalite test/connection.js, recorded on the service
	w.Header()["Content-Type"] = []string{"text/plain"}
	w.Header()["X-Content-Type-Options"] = []string{"nosniff"}
	_, _ = io.WriteString(w, "healthy: "+r.Host+" ") //nolint:gosec // plain text, never sniffed; fails only if the caller is gone

	return true
}

// unread returns the error for a body that could not be read. The words are not the service's: it closes the
// connection of some of these calls.
func unread(err error) *Error {
	e := Malformed("")

	if errors.Is(err, errSlow) {
		return &Error{Type: "RequestTimeoutException", Status: http.StatusRequestTimeout, Message: errSlow.Error()}
	}

	var most *http.MaxBytesError
	if errors.As(err, &most) || errors.Is(err, errTooLarge) {
		e.Status, e.Message = http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", maxBody)
	}

	return e
}

// fail answers a call with an error. An error that is no *Error is the engine's fault:
// its text goes to the log and not to the caller.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, s Service, id string, err error) {
	var e *Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) { // the caller gave up, or the engine is closing
			e = &Error{Type: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Message: "the call was cancelled"}
		} else {
			h.log.Error("engine fault", "request", id, "error", err)
			e = &Error{
				Type:    s.InternalError,
				Status:  http.StatusInternalServerError,
				Message: "the embedded engine failed; its log has the cause under request " + id,
			}
		}
	}

	prefix, status := s.ErrorPrefix, e.Status
	if e.Prefix != "" {
		prefix = e.Prefix
	}

	if status == 0 {
		status = http.StatusBadRequest
	}

	// Clients generated from the older Query protocol recognize errors by this header.
	// Source: https://smithy.io/2.0/aws/protocols/aws-query-protocol.html#aws-protocols-awsquerycompatible-trait
	if s.QueryCode != nil {
		side := "Sender"
		if status >= http.StatusInternalServerError {
			side = "Receiver"
		}

		w.Header().Set("X-Amzn-Query-Error", s.QueryCode(e.Type)+";"+side)
	}

	send(w, r, status, e.body(prefix, s.MessageKey))
}

// Refuse answers a request that reaches no service.
func Refuse(w http.ResponseWriter, r *http.Request, e *Error) {
	status := e.Status
	if status == 0 {
		status = http.StatusBadRequest
	}

	send(w, r, status, e.body("ratchet.engine#", "message"))
}

// readBody reads the whole request body.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := h.readRaw(w, r)
	if encoding := r.Header["Content-Encoding"]; err == nil && len(encoding) == 1 && encoding[0] == "gzip" {
		return h.arrivals.inflate(body, maxBody)
	}

	return body, err
}

func (h *Handler) readRaw(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if _, local := w.(*response); !local {
		return h.arrivals.read(w, r, maxBody)
	}

	// A caller in the process has its body in memory, and one allocation is enough.
	if n := r.ContentLength; n > 0 && n <= maxBody {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)

		return body, err
	}

	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// contentType is shared by all answers and never changed.
var contentType = []string{"application/x-amz-json-1.0"}

// send writes an answer with its length and checksum. It takes over body, whose memory another
// answer may have afterwards.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	header := w.Header()
	if len(body) >= leastCompressed && takesGzip(r) {
		// The checksum covers the bytes on the wire.
		// Source: https://github.com/aws/aws-sdk-java-v2 services/dynamodb customization.config, calculateCrc32FromCompressedData
		compressed := deflate(body)
		reuse(body)
		body = compressed
		header["Content-Encoding"] = []string{"gzip"}
	}

	length := strconv.Itoa(len(body))
	checksum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)
	values := []string{length, checksum} // one allocation for the values of two headers

	header["Content-Type"] = contentType
	header["Content-Length"] = values[:1:1]
	header["X-Amz-Crc32"] = values[1:]
	w.WriteHeader(status)

	if local, ok := w.(*response); ok {
		local.writeOwned(body)
		return
	}

	// Write fails only when the caller is gone. An HTTP/2 server may then still read body, although
	// Write has returned.
	if _, err := w.Write(body); err == nil {
		reuse(body)
	}
}
