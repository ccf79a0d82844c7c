package embedded

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ratchet/embedded/internal/wire"
)

// HTTPClient reaches the engine without a socket, for http requests of any kind.
func (e *Engine) HTTPClient() *http.Client { return wire.InProcess(e.gate) }

// AWSConfig is all that an SDK client needs to speak to this engine from the same
// process: dynamodb.NewFromConfig(engine.AWSConfig()). Its calls stay in the process,
// whatever BaseEndpoint says; for a listener over Handler build a configuration as
// for AWS.
//
// The clients are the SDK's own. What they do only for the sake of a network is left
// out: nothing is signed, hashed or looked up, and no header tells who calls.
func (e *Engine) AWSConfig() aws.Config {
	return aws.Config{
		Region:      e.cfg.Region,
		Credentials: aws.AnonymousCredentials{},
		HTTPClient:  wire.Direct(e.gate),
		APIOptions:  []func(*middleware.Stack) error{stayInProcess},
	}
}

// What a call does for the sake of a network: steps of the SDK's middleware.
var (
	networkBuild    = []string{"ClientRequestID", "UserAgent", "RecursionDetection"}
	networkFinalize = []string{"DisableAcceptEncodingGzip", "ResolveAuthScheme", "GetIdentity", "disableHTTPS", "DiscoverEndpoint",
		"ComputePayloadHash", "setLegacyContextSigningOptions", "Signing"}
	networkDeserialize = []string{"RecordResponseTiming", "DynamoDB:ResponseChecksumValidation"}
)

// stayInProcess takes these steps out of a call. Not every client has all of them.
func stayInProcess(s *middleware.Stack) error {
	for _, id := range networkBuild {
		if _, there := s.Build.Get(id); there {
			_, _ = s.Build.Remove(id) // it is there
		}
	}

	for _, id := range networkFinalize {
		if _, there := s.Finalize.Get(id); there {
			_, _ = s.Finalize.Remove(id)
		}
	}

	for _, id := range networkDeserialize {
		if _, there := s.Deserialize.Get(id); there {
			_, _ = s.Deserialize.Remove(id)
		}
	}
	_, err := s.Finalize.Swap("ResolveEndpointV2", thisProcess{})

	return err
}

// thisProcess stands in the place of the SDK's endpoint resolver.
type thisProcess struct{}

// ID is the name of the step.
func (thisProcess) ID() string { return "ThisProcess" }

// HandleFinalize gives the request an address, which nobody looks at.
func (thisProcess) HandleFinalize(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	if r, ok := in.Request.(*smithyhttp.Request); ok {
		r.URL.Scheme, r.URL.Host, r.Host = "http", "embedded.ratchet.internal", "embedded.ratchet.internal"
	}
	return next.HandleFinalize(ctx, in)
}
