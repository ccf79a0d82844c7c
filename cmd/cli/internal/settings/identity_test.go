package settings

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// TestAStaleAddressLeadsToNoOtherStore: a killed process has left its address in its directory, and a process over
// another directory listens there now. No command takes the one for the other.
func TestAStaleAddressLeadsToNoOtherStore(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")

	open := func(dir string) *embedded.Engine {
		engine, err := embedded.Open(embedded.Config{Dir: dir, Log: embeddedtest.Quiet()})
		if err != nil {
			t.Fatal(err)
		}

		return engine
	}

	killed, other := filepath.Join(t.TempDir(), "killed"), filepath.Join(t.TempDir(), "other")
	if err := open(killed).Close(); err != nil {
		t.Fatal(err)
	}

	engine := open(other)
	listener := httptest.NewServer(engine.Handler())
	t.Cleanup(func() {
		listener.Close()

		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})

	for _, dir := range []string{killed, other} {
		if err := os.WriteFile(filepath.Join(dir, EndpointFile), []byte(listener.URL+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if at := ResolveTarget(t.Context(), server.Config{Data: killed}.WithDefaults()); at.Kind != targetEmbedded || at.where != killed {
		t.Errorf("commands over the directory of the killed process use %s", at)
	}

	at := ResolveTarget(t.Context(), server.Config{Data: other}.WithDefaults())
	if at.Kind != targetServed || at.identity == "" {
		t.Errorf("commands over the served directory use %s", at)
	}

	// The process may also be replaced after the command has found it.
	identity, err := embedded.Identity(killed)
	if err != nil {
		t.Fatal(err)
	}

	for expected, ok := range map[string]bool{at.identity: true, identity: false} {
		b, err := server.Connect(t.Context(), server.Config{EndpointURL: listener.URL, Identity: expected}, embeddedtest.Quiet(), server.Events{})
		if err != nil {
			t.Fatal(err)
		}

		_, err = b.DynamoDB.ListTables(t.Context(), &dynamodb.ListTablesInput{})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "another data directory") {
			t.Errorf("expecting the served directory %t: %v", ok, err)
		}

		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTheTargetIsNamedTruly: the SDK's own settings may lead to an endpoint that is not AWS.
func TestTheTargetIsNamedTruly(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")

	cfg := server.Config{Data: filepath.Join(t.TempDir(), "none")}.WithDefaults()
	if at := ResolveTarget(t.Context(), cfg).String(); !strings.Contains(at, "AWS in us-east-1") || strings.Contains(at, "127.0.0.1") {
		t.Errorf("without an endpoint: %s", at)
	}

	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://user:hidden@127.0.0.1:8000")

	if at := ResolveTarget(t.Context(), cfg).String(); !strings.Contains(at, "DynamoDB at http://") || !strings.Contains(at, "127.0.0.1:8000") || !strings.Contains(at, "Step Functions at AWS in us-east-1") || strings.Contains(at, "hidden") {
		t.Errorf("with an endpoint for one service: %s", at)
	}

	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")

	if at := ResolveTarget(t.Context(), cfg).String(); strings.Contains(at, "at AWS") || !strings.Contains(at, "Step Functions at http://127.0.0.1:9000") {
		t.Errorf("with endpoints for all services: %s", at)
	}
}
