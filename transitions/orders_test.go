package transitions_test

import (
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// TestEditsAreIllegalWithoutEditableStates uses a definition without PENDING and ON_HOLD.
func TestEditsAreIllegalWithoutEditableStates(t *testing.T) {
	d, err := workflow.New(workflow.Spec{Name: "ticket", Version: 1, Place: "open", Initial: "OPEN",
		States:      []workflow.StateSpec{{State: "OPEN"}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "close", From: []workflow.State{"OPEN"}, To: "CLOSED"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	s.reconfigure(t, func(c *transitions.Config) { c.Definition = d })
	s.place(t, "o-1")
	edited(t, transitions.Illegal)(s.AddItems(t.Context(), edit("o-1", "e"), cup))

	if len(s.Editable()) != 0 {
		t.Errorf("editable in %v", s.Editable())
	}
}

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	s := newShop(t)
	for name, change := range map[string]func(*transitions.Config){
		"no client":       func(c *transitions.Config) { c.DynamoDB = nil },
		"no table":        func(c *transitions.Config) { c.Table = "" },
		"attempts":        func(c *transitions.Config) { c.Attempts = -1 },
		"little memory":   func(c *transitions.Config) { c.EditMemory = 3 },
		"much memory":     func(c *transitions.Config) { c.EditMemory = 65 },
		"short memory":    func(c *transitions.Config) { c.EditAge = 1 },
		"unknown journal": func(c *transitions.Config) { c.Journal = 9 },
	} {
		c := transitions.Config{DynamoDB: s.db, Table: "orders", JournalTable: "events"}
		change(&c)

		if _, err := transitions.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
