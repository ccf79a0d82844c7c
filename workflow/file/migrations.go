package file

import (
	"fmt"

	"ratchet/workflow"
	"ratchet/workflow/internal/document"
)

// ParseMigrations reads mappings between versions from YAML or JSON. Errors begin with the name of the
// file and the line, also the errors of [workflow.NewMigrations] about these mappings.
func ParseMigrations(name string, data []byte) ([]workflow.Migration, error) {
	root, err := document.Read(name, data)
	if err != nil {
		return nil, err
	}

	d := &document.Decoder{File: name}

	var all []workflow.Migration
	d.Fields(root, "the file", []string{"migrations"}, func(m document.Member) bool {
		if m.Name != "migrations" {
			return false
		}

		if d.Want(m.Value, document.List, m.Name) {
			for _, item := range m.Value.Items {
				all = append(all, readMigration(d, item))
			}
		}

		return true
	})

	if err := d.Err(); err != nil {
		return nil, err
	}

	return all, nil
}

func readMigration(d *document.Decoder, n *document.Node) workflow.Migration {
	// NewMigrations checks the mappings later, and begins its errors with the Position.
	migration := workflow.Migration{
		States:   map[workflow.State]workflow.State{},
		Position: fmt.Sprintf("%s:%d", d.File, n.Line),
	}
	d.Fields(n, "a migration", []string{"from", "to"}, func(m document.Member) bool {
		switch m.Name {
		case "from":
			migration.From = int(d.Int(m.Value, m.Name))
		case "to":
			migration.To = int(d.Int(m.Value, m.Name))
		case "states":
			if d.Want(m.Value, document.Map, m.Name) {
				for _, pair := range m.Value.Members {
					migration.States[workflow.State(pair.Name)] = workflow.State(d.Name(pair.Value, "states."+pair.Name))
				}
			}
		default:
			return false
		}

		return true
	})

	return migration
}
