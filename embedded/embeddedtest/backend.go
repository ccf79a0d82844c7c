package embeddedtest

import (
	"crypto/rand"
	"net/http"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// LocalURL is the environment variable with the URL of a DynamoDB Local that
// [Backend] uses in place of the engine, as "http://localhost:8000".
const LocalURL = "RATCHET_TEST_DYNAMODB_LOCAL"

// Backend returns the configuration of a DynamoDB for one test: an engine of its own
// or, if the environment variable [LocalURL] is set, DynamoDB Local. There the test
// uses an access key of its own, because DynamoDB Local keeps the data of each access
// key apart.
func Backend(t testing.TB) aws.Config {
	t.Helper()

	url := os.Getenv(LocalURL)
	if url == "" {
		return Open(t).AWSConfig()
	}

	// The test closes its connections, so that they do not look like leaked goroutines.
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(client.CloseIdleConnections)

	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: &url,
		Credentials:  credentials.NewStaticCredentialsProvider(rand.Text(), "secret", ""),
		HTTPClient:   client,
	}
}
