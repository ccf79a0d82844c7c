package workflow

import "fmt"

// ParseMigrations reads mappings between versions from YAML or JSON:
//
//	migrations:
//	  - from: 1
//	    to: 2
//	    states: {ON_HOLD: HELD}
//
// The name is the file's, for messages; every error names the file and the line, also
// those that [NewMigrations] finds in what was read here.
func ParseMigrations(name string, data []byte) ([]Migration, error) {
	doc, err := readDocument(name, data)
	if err != nil {
		return nil, err
	}
	p := &parser{reader: reader{file: name}}
	var all []Migration
	p.fields(doc, "the file", []string{"migrations"}, func(m member) bool {
		if m.name != "migrations" {
			return false
		}

		if p.want(m.value, isList, m.name) {
			for _, item := range m.value.items {
				s := p.migration(item)
				s.where = fmt.Sprintf("%s:%d: ", name, item.line)
				all = append(all, s)
			}
		}

		return true
	})

	if p.err != nil {
		return nil, p.err
	}

	return all, nil
}

func (p *parser) migration(n *node) Migration {
	s := Migration{States: map[State]State{}}
	p.fields(n, "a migration", []string{"from", "to"}, func(m member) bool {
		switch m.name {
		case "from":
			s.From = int(p.integer(m.value, m.name))
		case "to":
			s.To = int(p.integer(m.value, m.name))
		case "states":
			if p.want(m.value, isMap, m.name) {
				for _, pair := range m.value.members {
					s.States[State(pair.name)] = State(p.word(pair.value, "states."+pair.name))
				}
			}
		default:
			return false
		}

		return true
	})

	return s
}
