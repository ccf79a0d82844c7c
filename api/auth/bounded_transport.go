package auth

import (
	"fmt"
	"io"
	"net/http"
)

// maxIssuerBody is how many bytes of an issuer's answer are read. A configuration and a key set have some kilobytes.
const maxIssuerBody = 1 << 20

// boundedTransport carries requests to an issuer whose answers may be of any size.
type boundedTransport struct{ base http.RoundTripper }

// BoundedTransport returns a transport over base, nil for the default one, for requests to an issuer: reading more than
// 1 MiB of an answer fails. Answers to GET requests other than 200 have no body, because errors would repeat all of it in
// logs and in readiness.
func BoundedTransport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}

	return boundedTransport{base}
}

// RoundTrip is part of http.RoundTripper.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // a transport adds nothing to the error of its base
	}

	if r.Method == http.MethodGet && response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		response.Body = http.NoBody

		return response, nil
	}
	response.Body = &boundedBody{response.Body, maxIssuerBody}

	return response, nil
}

// boundedBody fails after so many bytes.
type boundedBody struct {
	io.ReadCloser

	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer of the issuer has more than %d bytes", maxIssuerBody)
	}

	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n

	return n, err //nolint:wrapcheck // a reader passes on io.EOF
}
