//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"ratchet/embedded"
	"ratchet/internal/dynamodblocal"
)

// The two that are compared in tests without sides of their own.
var engineSide, vendorSide *side

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	v, err := dynamodblocal.Start(ctx, "../../.cache/dynamodb-local")
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := v.Stop(); err == nil {
			err = stopErr
		}
	}()

	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		return 1, err
	}
	defer func() {
		if closeErr := engine.Close(); err == nil {
			err = closeErr
		}
	}()
	engineSide = &side{name: "engine", url: "http://engine.invalid", http: engine.HTTPClient(), accessKey: "conformance"}
	vendorSide = &side{name: "vendor", url: v.URL, http: &http.Client{Timeout: time.Minute}, accessKey: "conformance"}

	code = m.Run()
	if code == 0 {
		code = reportUnused()
	}

	return code, nil
}
