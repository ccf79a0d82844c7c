//go:build conformance

package conformance

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
)

// callsMade counts the calls to each side of generators.
var callsMade atomic.Int64

// sides are an engine and a part of DynamoDB Local that no other test uses.
type sides struct{ engine, vendor *side }

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// newSides returns sides for one test. The name must be letters: it is the access key.
func newSides(t testing.TB, name string) *sides {
	t.Helper()

	client := &http.Client{Timeout: time.Minute, Transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(client.CloseIdleConnections)

	return &sides{
		engine: &side{name: "engine", url: "http://engine.invalid", accessKey: name, http: embeddedtest.Open(t).HTTPClient()},
		vendor: &side{name: "vendor", url: vendorSide.url, accessKey: name, http: client},
	}
}

// ask sends a request to both sides at the same time.
func (s *sides) ask(t fataler, operation, body string) (engine, vendor answer) {
	t.Helper()
	callsMade.Add(1)

	var vendorErr error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		vendor, vendorErr = s.vendor.call(operation, body)
	}()
	engine, engineErr := s.engine.call(operation, body)
	<-answered

	if engineErr != nil || vendorErr != nil {
		t.Fatalf("%s %s: engine %v, vendor %v", operation, body, engineErr, vendorErr)
	}

	return engine, vendor
}

// compare sends a request to both sides and compares the answers.
func (s *sides) compare(t *rapid.T, operation, body string) {
	t.Helper()

	engine, vendor := s.ask(t, operation, body)
	shape := unordered(operation, body)
	got, want := engine.line(shape), vendor.line(shape)
	if !agree(want, got) {
		t.Fatalf("%s %s\n vendor %s\n engine %s", operation, body, clip(want), clip(got))
	}
}

// quietly sends a request to both sides that must succeed and is not compared.
func (s *sides) quietly(t fataler, operation, body string) {
	t.Helper()

	engine, vendor := s.ask(t, operation, body)
	if engine.status != 200 || vendor.status != 200 {
		t.Fatalf("%s %s: engine %s, vendor %s", operation, clip(body), engine.raw, vendor.raw)
	}
}

// withTable creates a table on both sides and drops DynamoDB Local's table after the test.
func (s *sides) withTable(t testing.TB, name, definition string) {
	t.Helper()

	s.quietly(t, "CreateTable", definition)
	t.Cleanup(func() { ask(t, s.vendor, "DeleteTable", fmt.Sprintf(`{"TableName":%q}`, name)) })
}
