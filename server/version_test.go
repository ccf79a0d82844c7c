package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

// TestAnExecutionGoesOnUnderANewVersion changes to version 2 of the definition while an
// order is on hold and its execution waits. The order is migrated, and the execution, which
// started under version 1, delivers it.
func TestAnExecutionGoesOnUnderANewVersion(t *testing.T) {
	dir := t.TempDir()
	text := file.Format(workflow.Order())
	newer := filepath.Join(dir, "order-v2.yaml")
	if err := os.WriteFile(newer, []byte(strings.Replace(text, "version: 1", "version: 2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	move := func(t *testing.T, s *stockedBackend, event workflow.Event) {
		t.Helper()

		r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: event, RequestID: transitions.RequestID("clerk/" + event)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatalf("%s: %s, %v", event, r.Verdict, err)
		}
	}
	t.Run("under version 1 it is held", func(t *testing.T) {
		s := newStockedBackend(t, func(c *server.Config) { c.Data = filepath.Join(dir, "data") })
		if _, err := s.Orders.Create(t.Context(), mug); err != nil {
			t.Fatal(err)
		}
		move(t, s, workflow.Hold)
		s.env.Execute(mug)
		s.untilParked(t, mug.ID, workflow.Pending)
	})
	t.Run("under version 2 it is migrated, released and delivered", func(t *testing.T) {
		s := newStockedBackend(t, func(c *server.Config) { c.Data, c.OrderDefinition = filepath.Join(dir, "data"), newer })
		m, err := workflow.NewMigrations([]*workflow.Definition{workflow.Order(), s.Orders.Definition()}, []workflow.Migration{{From: 1, To: 2}})
		if err != nil {
			t.Fatal(err)
		}

		if found, err := s.Orders.MigrateAll(t.Context(), m, transitions.Sweep{}, transitions.Cause{}); err != nil || found.Moved != 1 || found.Unmapped != 0 {
			t.Fatalf("%+v, %v", found, err)
		}
		move(t, s, workflow.Release)
		s.until(workflow.Delivered)

		s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)

		order, _, err := s.Orders.Get(t.Context(), mug.ID)
		if err != nil || order.State != workflow.Delivered || order.DefinitionVersion != 2 {
			t.Errorf("%+v, %v", order, err)
		}
	})
}
