package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// Errors that a client gets in place of an answer.
var (
	// ErrLost is the error of a broken connection, which the SDK retries. It wraps
	// io.ErrUnexpectedEOF.
	ErrLost = fmt.Errorf("faults: the connection broke: %w", io.ErrUnexpectedEOF)

	// ErrAnswerLost is ErrLost for a Before hook that wants the call to be carried
	// out and only its answer to be lost.
	ErrAnswerLost = fmt.Errorf("the answer is lost: %w", ErrLost)
)

// Errors that become the answer of the service that a call goes to; see [ExceedThroughput] and
// [Conflict].
var (
	ErrThrottled = errors.New("faults: the caller is above its quota")
	ErrConflict  = errors.New("faults: a transaction has the item")
)

// Error is an error that AWS answers. A [Fault] or a hook that returns one makes the
// transport answer with it over the wire, so that the SDK turns it into the error of
// the service, as types.ConditionalCheckFailedException.
type Error struct {
	// Code is the name of the error, as "ThrottlingException".
	Code string
	// Message is its text. Default: the code.
	Message string
	// Status is the HTTP status, 400 to 599. Default: 500 for codes that start with "Internal",
	// 503 for codes that start with "ServiceUnavailable", else 400.
	Status int
	// Members are further members of the answer, as "CancellationReasons".
	Members map[string]any
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Text() }

// Text returns the message, or the code if there is none.
func (e *Error) Text() string {
	if e.Message == "" {
		return e.Code
	}

	return e.Message
}

// HTTPStatus returns the status of the answer.
func (e *Error) HTTPStatus() int {
	switch {
	case e.Status != 0:
		return e.Status
	case strings.HasPrefix(e.Code, "Internal"):
		return http.StatusInternalServerError
	case strings.HasPrefix(e.Code, "ServiceUnavailable"):
		return http.StatusServiceUnavailable
	}

	return http.StatusBadRequest
}

// response is the error as an answer to the request.
func (e *Error) response(r *http.Request) (*http.Response, error) {
	members := map[string]any{"__type": e.Code, "message": e.Text()}

	// Members are copied last, so that they can replace the type and the message.
	maps.Copy(members, e.Members)

	body, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("faults: encode the answer %s: %w", e.Code, err)
	}

	return jsonResponse(r, e.HTTPStatus(), body), nil
}

// Canceled returns the error of a DynamoDB transaction that was canceled, with one
// reason for each item of the transaction in its order: "None" or a code, as
// "TransactionConflict" or "ConditionalCheckFailed". An empty code leaves the reason's
// code out.
func Canceled(codes ...string) *Error {
	reasons := make([]map[string]string, len(codes))
	for i, code := range codes {
		reasons[i] = map[string]string{}
		if code != "" {
			reasons[i]["Code"] = code
		}
	}

	return &Error{Code: "TransactionCanceledException", Members: map[string]any{"CancellationReasons": reasons}}
}

// AnswerError returns the result that a client gets in place of an answer: an answer if err is an
// *Error, else err itself.
func (c *Call) AnswerError(err error) (*http.Response, error) {
	err = c.Shape(err)
	if e, ok := errors.AsType[*Error](err); ok {
		return e.response(c.Request)
	}

	return nil, err
}

func jsonResponse(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status:        http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       r,
	}
}
