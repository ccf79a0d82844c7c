package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

// Migration says how orders come to another version of their definition. It has all that a worker needs, which has
// only its own definition.
type Migration struct {
	// Workflow and To name the definition of the workers that run the job. Others refuse it.
	Workflow string `json:"workflow"`
	To       int    `json:"to"`
	// Definitions are the texts of files with other versions, Mapping that of the file with the mappings.
	Definitions []string `json:"definitions,omitempty"`
	Mapping     string   `json:"mapping,omitempty"`
	// Code is the code of the cause that the transitions have. Default: "job".
	Code string `json:"code,omitempty"`
}

// mostMigration bounds the texts of a migration, in bytes: with the rest of a job they fit into one item.
const mostMigration = 128 << 10

func (m *Migration) size() int {
	n := len(m.Mapping)
	for _, text := range m.Definitions {
		n += len(text)
	}

	return n
}

// fault returns what is wrong with the migration, "" if nothing is.
func (m *Migration) fault() string {
	switch {
	case m.Workflow == "" || m.To < 1:
		return "workflow and to must be set"
	case m.size() > mostMigration:
		return fmt.Sprintf("at most %d bytes", mostMigration)
	}

	for i, text := range m.Definitions {
		if _, err := file.Parse(fmt.Sprintf("definition %d", i+1), []byte(text)); err != nil {
			return err.Error()
		}
	}

	if m.Mapping != "" {
		if _, err := file.ParseMigrations(mappingName, []byte(m.Mapping)); err != nil {
			return err.Error()
		}
	}

	return ""
}

func (m *Migration) cause(j Job) transitions.Cause {
	return transitions.Cause{Code: cmp.Or(m.Code, "job"), Text: j.Reason, Actor: j.By, Source: "job"}
}

// TextError says which text of a migration breaks a rule, and which rule. It is an ErrInvalid.
type TextError struct {
	error
	// Member is the text's place in the JSON of a migration, like "/definitions/0".
	Member string
	Rule   error
}

// Unwrap returns the error that has ErrInvalid and the rule.
func (e *TextError) Unwrap() error { return e.error }

func textError(member string, rule error) *TextError {
	return &TextError{fmt.Errorf("%w: %w", ErrInvalid, rule), member, rule}
}

// mappingName begins the errors of the mapping.
const mappingName = "mapping"

// Ways reads the texts. The target is the definition that orders are brought to. The error is a [*TextError].
func (m *Migration) Ways(target *workflow.Definition) (*workflow.Migrations, error) {
	if m.size() > mostMigration {
		return nil, textError("/mapping", fmt.Errorf("definitions and mapping have %d bytes, and at most %d", m.size(), mostMigration))
	}

	versions := []*workflow.Definition{target}

	for i, text := range m.Definitions {
		d, err := file.Parse(fmt.Sprintf("definition %d", i+1), []byte(text))
		if err != nil {
			return nil, textError(fmt.Sprintf("/definitions/%d", i), err)
		}
		versions = append(versions, d)
	}

	var steps []workflow.Migration
	if m.Mapping != "" {
		var err error
		if steps, err = file.ParseMigrations(mappingName, []byte(m.Mapping)); err != nil {
			return nil, textError("/mapping", err)
		}
	}

	ways, err := workflow.NewMigrations(WithBuiltIn(versions), steps)
	if err != nil {
		// Errors of the mappings begin with their line.
		member := "/definitions"
		if strings.HasPrefix(err.Error(), mappingName+":") {
			member = "/mapping"
		}

		return nil, textError(member, err)
	}

	return ways, nil
}

// WithBuiltIn adds the program's own version of the orders' definition, which needs no file, if it is one of the same
// workflow and is not there.
func WithBuiltIn(versions []*workflow.Definition) []*workflow.Definition {
	own := workflow.Order()
	known := slices.ContainsFunc(versions, func(d *workflow.Definition) bool { return d.Version() == own.Version() })

	if own.Name() == versions[0].Name() && !known {
		versions = append(versions, own)
	}

	return versions
}
