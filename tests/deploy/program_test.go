package deploy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ratchet/activities"
	"ratchet/cmd/cli"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/workflow/file"
)

// asProgram makes a process of this test a program, so that none has to be built. Its value is the name of
// the parts that the program brings along.
const asProgram = "DEPLOY_TEST_IS_RATCHET"

// shopParts is the name of the program `ratchet` itself.
const shopParts = "shop"

func TestMain(m *testing.M) {
	if name := os.Getenv(asProgram); name != "" {
		parts, err := partsOf(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		cli.Main(parts)
	}

	os.Exit(m.Run())
}

// ownSteps are the steps of the examples, with what they declare.
var ownSteps = map[string][]server.Step{
	"ticket": {{Name: "triage", Permissions: []string{"s3:GetObject arn:aws:s3:::topics/*", "dynamodb:GetItem table/topics"}}},
	"mugs":   {{Name: "reserve"}, {Name: "charge", Permissions: []string{}}},
}

// ownPermissions are what the handlers of the examples declare.
var ownPermissions = map[string][]string{"mugs": {"dynamodb:PutItem table/letters"}}

// partsOf returns the parts of an example, from its files: the definition, the state machine, the names of
// the steps, and a handler.
func partsOf(name string) (server.Parts, error) {
	if _, own := ownSteps[name]; !own {
		return server.Parts{}, nil
	}

	dir := filepath.Join("../../examples", name)

	text, err := os.ReadFile(filepath.Join(dir, "workflow.yaml"))
	if err != nil {
		return server.Parts{}, err
	}

	d, err := file.Parse("workflow.yaml", text)
	if err != nil {
		return server.Parts{}, err
	}

	machine, err := os.ReadFile(filepath.Join(dir, "statemachine.asl.json"))
	if err != nil {
		return server.Parts{}, err
	}

	w := &server.Workflow{Definition: d, StateMachine: machine}
	for _, step := range ownSteps[name] {
		step.Handle = func(*server.Backend) activities.HandlerFunc { return nil }
		w.Steps = append(w.Steps, step)
	}

	handlers := func(*server.Backend) []streams.Handler {
		return []streams.Handler{{Name: "answer", Handle: func(context.Context, streams.Record) error { return nil }}}
	}

	return server.Parts{Workflow: w, Handlers: handlers, Permissions: ownPermissions[name]}, nil
}
