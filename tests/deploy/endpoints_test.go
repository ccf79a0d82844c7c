package deploy

import (
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// TestEachServiceHasItsEndpoint holds docs/guides/endpoints.md: without --endpoint-url, each service is called at
// the URL of its own variable.
func TestEachServiceHasItsEndpoint(t *testing.T) {
	rec := serveEngine(t, embed(t, server.Config{Data: t.TempDir()}).Engine.Handler())

	t.Setenv("AWS_REGION", region)
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")

	actions := map[string]string{"DYNAMODB": "dynamodb:", "DYNAMODB_STREAMS": "dynamodb:", "SFN": "states:", "SQS": "sqs:"}
	for service := range actions {
		t.Setenv("AWS_ENDPOINT_URL_"+service, rec.endpoint(service))
	}

	b, err := server.Connect(t.Context(), server.Config{RequestsQueue: prefix + "requests", Bank: server.Sandbox, Carrier: server.Sandbox}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	if _, err := b.StreamInspector().Status(t.Context()); err != nil {
		t.Fatal(err)
	}

	for service, action := range actions {
		lines := rec.lines(service)
		if len(lines) == 0 {
			t.Errorf("AWS_ENDPOINT_URL_%s: no call", service)
		}

		for _, line := range lines {
			stream := strings.Contains(line, "/stream/")
			if !strings.HasPrefix(line, action) || stream != (service == "DYNAMODB_STREAMS") {
				t.Errorf("AWS_ENDPOINT_URL_%s got %s", service, line)
			}
		}
	}
}
