package server_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// TestAnIdleWorkerAtAnEngineStopsAtOnce: the engine of another process gives no task to a poll that was
// canceled, so the stop does not wait for the polls, which would take up to a minute.
func TestAnIdleWorkerAtAnEngineStopsAtOnce(t *testing.T) {
	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)
	front := httptest.NewServer(engine.Handler())
	t.Cleanup(front.Close)

	b, err := server.Connect(t.Context(), server.Config{EndpointURL: front.URL}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx, "w") }()

	<-time.After(3 * time.Second) // its polls are open
	began := time.Now()
	stop()

	if err := <-done; err != nil {
		t.Error(err)
	}

	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("an idle worker stopped after %v", took)
	}
}
