package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// wholeBody is the SDK's client for endpoints that are near. It hands each request's
// body over in one piece: the SDK closes the body as soon as the answer begins, and when
// that is before net/http has looked for its end, which only a fast endpoint manages,
// net/http takes the closing for an error (smithy-go's safeWriteToReadCloser answers
// io.EOF to WriteTo) and cuts the connection in the middle of the answer. The SDK then
// tries again, a tenth of all large answers on a loaded machine.
type wholeBody struct{ aws.HTTPClient }

func (c wholeBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read the request's body: %w", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}

	return c.HTTPClient.Do(r)
}
