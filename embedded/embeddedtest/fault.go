package embeddedtest

import (
	"time"

	"ratchet/embedded/faults"
)

// The types of package faults, which the engine applies on its side; see
// embedded.Engine.Inject.
type (
	// Fault says which calls fail and how.
	Fault = faults.Fault
	// Injection is a fault in effect; see [Transport.Inject].
	Injection = faults.Injection
	// Call is one request on its way from a client. A call that the SDK retries is a new Call
	// each time.
	Call = faults.Call
	// Error is an error that AWS answers.
	Error = faults.Error
	// Doer sends HTTP requests: an http.Client, or the HTTPClient of an aws.Config.
	Doer = faults.Doer
)

// Errors that a client gets in place of an answer; see package faults.
var (
	ErrLost       = faults.ErrLost
	ErrAnswerLost = faults.ErrAnswerLost
)

// LoseRequest loses requests before they reach the service.
func LoseRequest(operations ...string) Fault { return faults.LoseRequest(operations...) }

// LoseAnswer loses the answers of calls that were carried out.
func LoseAnswer(operations ...string) Fault { return faults.LoseAnswer(operations...) }

// Answer answers with an AWS error of this code and does not carry the call out.
func Answer(code string, operations ...string) Fault { return faults.Answer(code, operations...) }

// Throttle answers with a ThrottlingException, which the SDK retries.
func Throttle(operations ...string) Fault { return faults.Throttle(operations...) }

// Delay lets calls wait before they are sent.
func Delay(d time.Duration, operations ...string) Fault { return faults.Delay(d, operations...) }

// Writes returns the operations of DynamoDB that write items.
func Writes() []string { return faults.Writes() }

// Canceled returns the error of a DynamoDB transaction that was canceled, with one reason for
// each item of the transaction in its order; see [faults.Canceled].
func Canceled(codes ...string) *Error { return faults.Canceled(codes...) }
