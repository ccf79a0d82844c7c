package server_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// TestAWorkerRunsTheNamedParts runs each part alone: it becomes ready, with the checks of that part and
// no other.
func TestAWorkerRunsTheNamedParts(t *testing.T) {
	checks := map[server.WorkerPart][]string{
		server.PartActivities:    {"table", "disk", "clock", "activities", "tasks"},
		server.PartStream:        {"table", "disk", "clock", "tasks", "stream", "stream lag"},
		server.PartRequests:      {"table", "disk", "clock", "tasks", "requests queue"},
		server.PartNotifications: {"table", "disk", "clock", "tasks"},
		server.PartSweeps:        {"table", "disk", "clock", "tasks"},
		server.PartJobs:          {"table", "disk", "clock", "tasks"},
	}

	for _, part := range server.WorkerParts() {
		t.Run(string(part), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b, err := server.Embed(server.Config{Data: dir, RequestsQueue: "requests"}, embeddedtest.Quiet(), server.Events{})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()

				if err := b.Init(t.Context()); err != nil {
					t.Fatal(err)
				}

				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- b.Run(ctx, "worker", part) }()
				synctest.Wait()

				health := b.Health(t.Context())

				var names []string
				for _, c := range health.Checks {
					names = append(names, c.Name)
				}

				if !health.Ready || !slices.Equal(names, checks[part]) {
					t.Errorf("health %+v, want the checks %v", health, checks[part])
				}

				if found, err := b.Processes.Check(t.Context()); err != nil || len(found) != 1 || !slices.Equal(found[0].Parts, []string{string(part), "engine"}) {
					t.Errorf("the row is %+v, %v", found, err)
				}
				stop()

				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAWorkerRefusesAnUnknownPart(t *testing.T) {
	b, err := server.Embed(server.Config{Data: t.TempDir()}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	if err := b.Run(t.Context(), "worker", "payments"); !errors.Is(err, server.ErrWorkerPart) {
		t.Errorf("error %v", err)
	}
}
