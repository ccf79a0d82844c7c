package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ratchet/embedded"
)

// bufferedClient is an HTTP client of the SDK that reads each request's body into memory
// before it sends the request. Endpoints on the same machine need it.
//
// The SDK closes the body of a request as soon as the response begins. If net/http has not reached the
// end of the body at that time, smithy-go's safeWriteToReadCloser makes WriteTo return io.EOF. Net/http
// takes that for an error and closes the connection in the middle of the response. This race happens
// only with an endpoint that answers very quickly. On a loaded machine the SDK had to retry a tenth of
// all large responses.
type bufferedClient struct {
	aws.HTTPClient
	identity string // of the data directory that is expected, "" for any
}

// Do sends the request with its body in memory, and with the identity of the data directory.
func (c bufferedClient) Do(request *http.Request) (*http.Response, error) {
	if c.identity != "" {
		request.Header.Set(embedded.IdentityHeader, c.identity)
	}

	if request.Body != nil && request.Body != http.NoBody {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, fmt.Errorf("read the request's body: %w", err)
		}

		request.Body = io.NopCloser(bytes.NewReader(body))
	}

	return c.HTTPClient.Do(request)
}
