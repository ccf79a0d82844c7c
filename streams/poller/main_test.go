package poller

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if endpoint := os.Getenv(processEndpoint); endpoint != "" {
		os.Exit(runWorkerProcess(endpoint))
	}

	goleak.VerifyTestMain(m)
}
