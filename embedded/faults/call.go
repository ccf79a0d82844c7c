package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Call is one request on its way from a client. A call that the SDK retries is a new
// Call each time.
type Call struct {
	// Service is the SDK's package name of the service: "dynamodb",
	// "dynamodbstreams", "sfn" or "sqs". Empty for a request to anything else.
	Service string
	// Operation is the name of the operation, as "UpdateItem". For a request without
	// an operation it is the method and path, as "POST /charges".
	Operation string
	// N numbers the calls of this operation that a [Set] has seen, from 1.
	N int
	// Request is the request itself, nil on the engine's side. Hooks read its body through
	// Body.
	Request *http.Request

	body    []byte
	bodyErr error
	isRead  bool
}

var services = map[string]string{
	"DynamoDB_20120810":        "dynamodb",
	"DynamoDBStreams_20120810": "dynamodbstreams",
	"AWSStepFunctions":         "sfn",
	"AmazonSQS":                "sqs",
}

// NewCall returns a call of an operation, on the engine's side.
func NewCall(service, operation string, body []byte) *Call {
	return &Call{Service: service, Operation: operation, body: body, isRead: true}
}

// CallOf returns the call that a client's request makes.
func CallOf(r *http.Request) *Call {
	target, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok {
		return &Call{Operation: r.Method + " " + r.URL.Path, Request: r}
	}

	return &Call{Service: services[target], Operation: operation, Request: r}
}

// String returns the service and operation, as "dynamodb.UpdateItem".
func (c *Call) String() string {
	if c.Service == "" {
		return c.Operation
	}

	return c.Service + "." + c.Operation
}

// Is reports whether the call is one of these operations, each named as "UpdateItem"
// or "dynamodb.UpdateItem". Without names every call is.
func (c *Call) Is(operations ...string) bool {
	return len(operations) == 0 || slices.Contains(operations, c.Operation) || slices.Contains(operations, c.String())
}

// Body returns the body of the request. It may be called many times; the request is
// still sent with it.
func (c *Call) Body() []byte {
	if !c.isRead {
		c.isRead = true

		// The body is read only once, even after an error: a second read would take the rest for
		// the whole. Send reports the error.
		if c.Request.Body != nil {
			c.body, c.bodyErr = io.ReadAll(c.Request.Body)
		}
	}

	return c.body
}

// SetBody replaces the body with which the request is sent.
func (c *Call) SetBody(body []byte) { c.body, c.isRead = body, true }

// Respond returns an answer of a service that speaks AWS's JSON protocols.
func (c *Call) Respond(status int, body string) *http.Response {
	return jsonResponse(c.Request, status, []byte(body))
}

// Doer sends HTTP requests: an http.Client, or the HTTPClient of an aws.Config.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Send sends the request to next. It may be called again if the body was read.
func (c *Call) Send(next Doer) (*http.Response, error) {
	if next == nil {
		return nil, fmt.Errorf("faults: no backend answers %s", c)
	}

	if c.bodyErr != nil {
		return nil, fmt.Errorf("faults: read the request of %s: %w", c, c.bodyErr)
	}

	request := c.Request.WithContext(c.Request.Context()) // a copy: a RoundTripper must not change its request
	if c.isRead {
		request.Body = io.NopCloser(bytes.NewReader(c.body))
		request.ContentLength = int64(len(c.body))
	}

	return next.Do(request)
}
