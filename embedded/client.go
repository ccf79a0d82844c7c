package embedded

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ratchet/embedded/internal/wire"
)

// HTTPClient returns a client whose requests reach the engine without a socket. Host and
// scheme of a request do not matter.
func (e *Engine) HTTPClient() *http.Client { return wire.InProcess(e.gate) }

// AWSConfig returns the configuration of SDK clients of this engine in the same process:
// dynamodb.NewFromConfig(engine.AWSConfig()). Calls stay in the process, whatever
// BaseEndpoint says. For a server over Handler make a configuration as for AWS.
//
// The clients are the SDK's own, without the steps that only a network needs: requests are
// not signed or hashed, endpoints are not resolved, no header identifies the caller.
func (e *Engine) AWSConfig() aws.Config {
	return aws.Config{
		Region:      e.cfg.Region,
		Credentials: aws.AnonymousCredentials{},
		HTTPClient:  wire.Direct(e.gate),
		APIOptions:  []func(*middleware.Stack) error{stayInProcess, beginWithRoom},
	}
}

// beginWithRoom makes the stack of the caller's goroutine large enough before the steps of a call are on it. These steps and those of
// the engine are some fifty frames deep, so a goroutine that was made for one call would copy them each time its stack is full.
func beginWithRoom(s *middleware.Stack) error {
	return s.Initialize.Add(middleware.InitializeMiddlewareFunc("RoomOnStack", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		roomOnStack(0)

		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// stackOfACall is about how much of the stack a call needs, in bytes.
const stackOfACall = 24 << 10

// roomOnStack needs as much of the stack as a call.
//
//go:noinline
func roomOnStack(at int) byte {
	var room [stackOfACall]byte

	return room[at]
}

// The steps of the SDK's middleware that only a network needs, by the phase that has them.
var (
	networkBuild    = []string{"ClientRequestID", "UserAgent", "RecursionDetection"}
	networkFinalize = []string{
		"DisableAcceptEncodingGzip",
		"ResolveAuthScheme",
		"GetIdentity",
		"disableHTTPS",
		"DiscoverEndpoint",
		"ComputePayloadHash",
		"setLegacyContextSigningOptions",
		"Signing",
	}
	networkDeserialize = []string{"RecordResponseTiming", "DynamoDB:ResponseChecksumValidation"}
)

// stayInProcess removes these steps from a call. Not every client has all of them, and Remove fails
// for a missing step, so each step is looked up first.
func stayInProcess(s *middleware.Stack) error {
	for _, id := range networkBuild {
		if _, found := s.Build.Get(id); found {
			_, _ = s.Build.Remove(id)
		}
	}

	for _, id := range networkFinalize {
		if _, found := s.Finalize.Get(id); found {
			_, _ = s.Finalize.Remove(id)
		}
	}

	for _, id := range networkDeserialize {
		if _, found := s.Deserialize.Get(id); found {
			_, _ = s.Deserialize.Remove(id)
		}
	}

	// Every client resolves its endpoint, so an error here means that the SDK has changed.
	_, err := s.Finalize.Swap("ResolveEndpointV2", inProcessEndpoint{})

	return err
}

// inProcessEndpoint takes the place of the SDK's endpoint resolver.
type inProcessEndpoint struct{}

// ID returns the name of the step.
func (inProcessEndpoint) ID() string { return "InProcessEndpoint" }

// HandleFinalize sets an address, which an http.Request must have and the engine ignores.
func (inProcessEndpoint) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	if r, ok := in.Request.(*smithyhttp.Request); ok {
		r.URL.Scheme, r.URL.Host, r.Host = "http", "embedded.ratchet.internal", "embedded.ratchet.internal"
	}
	return next.HandleFinalize(ctx, in)
}
