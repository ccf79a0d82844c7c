package check

import (
	"strings"

	"ratchet/embedded/paths"
	"ratchet/workflow/internal/document"
)

// writtenPath is a path or an expression as it stands in the file.
type writtenPath struct {
	field string
	text  string
	line  int
	fault func(text string) error // reads it as the service does where the field stands
}

// templates are the fields that hold payload templates: only members whose names end with ".$" are expressions there.
var templates = map[string]bool{
	"Parameters": true, "ResultSelector": true, "ItemSelector": true, "Assign": true, "BatchInput": true, "Credentials": true,
}

// nested are the fields whose states are read on their own, and those that hold data.
var nested = map[string]bool{"Branches": true, "Iterator": true, "ItemProcessor": true, "Result": true, "Comment": true}

func isPath(text string) error {
	_, err := paths.Read(text)
	return err
}

// addWritten adds the paths of a state, or of a part of it such as a rule of a Choice.
func (s *aslState) addWritten(n *document.Node) {
	for _, item := range n.Items {
		s.addWritten(item)
	}

	for _, m := range n.Members {
		fault := isPath

		switch {
		case nested[m.Name]:
			continue
		case templates[m.Name]:
			s.addTemplate(m.Value)
			continue
		case m.Value.Kind != document.String:
			s.addWritten(m.Value)
			continue
		case m.Name == "ResultPath":
			fault = paths.CheckReference
		case m.Name == "ErrorPath", m.Name == "CausePath":
			fault = paths.CheckExpression
		case m.Name != "Variable" && !strings.HasSuffix(m.Name, "Path"):
			continue
		}

		s.written = append(s.written, writtenPath{m.Name, m.Value.Text, m.Line, fault})
	}
}

// addTemplate adds the expressions of a payload template.
func (s *aslState) addTemplate(n *document.Node) {
	for _, item := range n.Items {
		s.addTemplate(item)
	}

	for _, m := range n.Members {
		if strings.HasSuffix(m.Name, ".$") && m.Value.Kind == document.String {
			s.written = append(s.written, writtenPath{m.Name, m.Value.Text, m.Line, paths.CheckExpression})
			continue
		}

		s.addTemplate(m.Value)
	}
}

// lintPaths reports the paths and expressions that the service refuses.
func (c *checker) lintPaths(s *aslState) {
	for _, w := range s.written {
		// A placeholder of a template gets its text when it is deployed.
		if strings.Contains(w.text, "${") {
			continue
		}

		if err := w.fault(w.text); err != nil {
			c.at(SeverityError, "bad-path", s, w.line, "%s: %v", w.field, err)
		}
	}
}
