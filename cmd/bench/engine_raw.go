package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// rawClient sends the bodies of calls, and reads the answers without decoding them: the SDK's
// decoding takes longer than a fast server, and hides the difference.
type rawClient struct {
	http *http.Client
	url  string
}

func newRawClient(url string) *rawClient {
	// As the SDK for Go, it does not ask for compressed answers.
	return &rawClient{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}}}
}

// The prefixes of X-Amz-Target.
const (
	targetDynamoDB = "DynamoDB_20120810."
	targetStreams  = "DynamoDBStreams_20120810."
	targetStates   = "AWSStepFunctions."
)

// rawAuthorization has the form of a signature, which is all that the servers look at.
const rawAuthorization = "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00"

// call makes a call and returns the size of the answer in bytes.
func (c *rawClient) call(ctx context.Context, target string, body []byte) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = http.Header{
		"X-Amz-Target":  {target},
		"Content-Type":  {"application/x-amz-json-1.0"},
		"X-Amz-Date":    {"20260101T000000Z"},
		"Authorization": {rawAuthorization},
	}

	answer, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()

	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body) // the status says enough
		return 0, fmt.Errorf("%s: status %d: %s", target, answer.StatusCode, text)
	}

	// Read to the end, or the connection could not be used again.
	return io.Copy(io.Discard, answer.Body)
}
