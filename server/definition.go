package server

import (
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

// ParseDefinition reads the definition of orders from the text of a file. Beside the rules of
// [workflow.New], the longest write of every event must fit into one request to DynamoDB. versions are the
// versions of the definition that are accepted beside its own. The error names the file and the line.
func ParseDefinition(name string, text []byte, versions []int) (*workflow.Definition, error) {
	return file.Parse(name, text, func(d *workflow.Definition) error { return checkBounds(d, versions) })
}

func readDefinition(name string, versions []int) (*workflow.Definition, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
	}

	d, err := ParseDefinition(name, text, versions)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
	}

	return d, nil
}

// checkBounds returns the error with which package transitions refuses the definition, as a
// *[workflow.SpecError] if it is about a transition.
func checkBounds(d *workflow.Definition, versions []int) error {
	// New renders the writes and sends nothing. With a table of requests they are the longest.
	_, err := transitions.New(transitions.Config{
		DynamoDB:      dynamodb.New(dynamodb.Options{}),
		Table:         "orders",
		RequestsTable: "requests",
		Definition:    d,
		Versions:      versions,
	})
	if err == nil {
		return nil
	}

	_, reason, about := strings.Cut(err.Error(), "Config.Definition: ")
	if !about {
		return err
	}

	return &workflow.SpecError{Part: "transition", Index: transitionNamed(d, reason), Err: fmt.Errorf("workflow %q version %d: %s", d.Name(), d.Version(), reason)}
}

// transitionNamed returns the index of the transition that the reason names by event and target. Of several,
// it is the one with the longest guards.
func transitionNamed(d *workflow.Definition, reason string) (index int) {
	longest := -1
	for i, t := range d.Spec().Transitions {
		size := len(fmt.Sprint(t.Guards))
		if strings.HasPrefix(reason, fmt.Sprintf("event %s to %s: ", t.Event, t.To)) && size > longest {
			index, longest = i, size
		}
	}

	return index
}
