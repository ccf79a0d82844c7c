package wire

import "context"

// Operation answers one call. It returns the JSON answer, either ready as
// json.RawMessage or as a value to marshal; or an *Error, with which the service
// refuses the call; or any other error, which the handler reports as the service's
// InternalError.
//
// A json.RawMessage is handed over. If its capacity is 8 KB or more, another answer is
// written into its memory after it was sent.
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
	// QueryCode returns the name that an error has in the service's older Query
	// protocol, which goes into the header X-Amzn-Query-Error. Nil means that the service
	// never spoke that protocol.
	QueryCode func(errorType string) string
	// Addressed are the operations that tell callers an address of the engine. Their context has what Address
	// returns.
	Addressed []string
	// Operations holds the operations, by the name after the target's dot.
	Operations map[string]Operation
}

// Around returns the service with every operation replaced by wrap(name, operation).
func (s Service) Around(wrap func(name string, call Operation) Operation) Service {
	wrapped := make(map[string]Operation, len(s.Operations))
	for name, call := range s.Operations {
		wrapped[name] = wrap(name, call)
	}
	s.Operations = wrapped

	return s
}

// Decoded turns a function with a typed request into an Operation. Decode describes how
// the body is read.
func Decoded[In any](call func(ctx context.Context, in *In) (any, error)) Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := Decode(body, in); err != nil {
			return nil, err
		}

		return call(ctx, in)
	}
}
