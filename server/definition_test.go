package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/server"
	"ratchet/workflow/check"
)

// longGuards is a definition whose second event compares more values than fit into one condition.
func longGuards() string {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("value-%02d", i))
	}

	var guards strings.Builder
	for i := range 8 {
		fmt.Fprintf(&guards, "      - {name: g%d, attribute: a%d, op: in, value: [%s]}\n", i, i, strings.Join(list, ", "))
	}

	return `name: long
version: 1
place: place
initial: A
content: []
states:
  - {state: A}
  - {state: B}
  - {state: C, terminal: true}
transitions:
  - {event: go, from: [A], to: B}
  - event: stop
    from: [B]
    to: C
    guards:
` + guards.String()
}

// TestADefinitionWhoseWritesAreTooLongIsRefusedWithItsLine: by a check, before a worker would refuse it.
func TestADefinitionWhoseWritesAreTooLongIsRefusedWithItsLine(t *testing.T) {
	const want = `:12: workflow "long" version 1: event stop to C: its states and guards make a condition of `

	_, err := server.ParseDefinition("d.yaml", []byte(longGuards()), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "d.yaml"+want) {
		t.Errorf("got %v", err)
	}

	file := filepath.Join(t.TempDir(), "d.yaml")
	if err := os.WriteFile(file, []byte(longGuards()), 0o600); err != nil {
		t.Fatal(err)
	}

	_, err = server.Config{OrderDefinition: file}.CheckWorkflow()
	if !errors.Is(err, server.ErrDefinition) || !strings.Contains(err.Error(), file+want) {
		t.Errorf("the settings' definition: %v", err)
	}

	// Many versions make the conditions longer, too.
	versions := make([]int, 101)
	for i := range versions {
		versions[i] = i + 2
	}

	short, _, _ := strings.Cut(longGuards(), "    guards:")
	if _, err := server.ParseDefinition("d.yaml", []byte(short), nil); err != nil {
		t.Error(err)
	}

	if _, err := server.ParseDefinition("d.yaml", []byte(short), versions); err == nil {
		t.Error("101 versions are accepted")
	}
}

// No start checks the built-in workflow.
func TestTheBuiltInWorkflowFits(t *testing.T) {
	report, err := server.Config{}.CheckWorkflow()
	if err != nil {
		t.Fatal(err)
	}

	if report.States == 0 {
		t.Error("no states")
	}

	for _, finding := range report.Findings {
		if finding.Severity != check.SeverityInfo {
			t.Error(finding)
		}
	}
}
