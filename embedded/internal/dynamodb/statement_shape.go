package dynamodb

import (
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// cell is an attribute of the rows that a SELECT shows.
type cell struct {
	name string
	path expression.Path
	// rest are the paths within the value that the row shows, none for the whole value. project is
	// the projection to rest. It is nil without rest, and if paths in rest contain each other.
	rest    []expression.Path
	project *expression.Projection
}

// inCell is the name under which a value is projected to the rest of its paths.
const inCell = "value"

// shapeOf returns the function that makes a SELECT's row from an item, nil for all columns. A
// column has the name of its last member, but an element of a list ends the name: a.b[0].c is shown
// as the c in an attribute "b[0]", as in DynamoDB Local.
func shapeOf(columns []expression.Path) func(attr.Item) attr.Item {
	if columns == nil {
		return nil
	}

	cells := cellsOf(columns)

	return func(item attr.Item) attr.Item {
		row := make(attr.Item, len(cells))
		for _, c := range cells {
			if v, ok := c.of(item); ok {
				row[c.name] = v
			}
		}

		return row
	}
}

func cellsOf(columns []expression.Path) []cell {
	var cells []cell
	for _, path := range columns {
		c := cell{name: path[len(path)-1].Name, path: path}

		if n := slices.IndexFunc(path, func(s expression.Step) bool { return s.List }); n > 0 {
			c.name, c.path = path[n-1].Name+path[n].String(), path[:n+1]
			if n+1 < len(path) {
				c.rest = []expression.Path{append(expression.Path{{Name: inCell}}, path[n+1:]...)}
			}
		}

		// Columns within one element of a list share its cell, which has the name of the element.
		same := slices.IndexFunc(cells, func(o cell) bool { return o.name == c.name && c.rest != nil })
		if same >= 0 {
			cells[same].rest = append(cells[same].rest, c.rest...)
		} else {
			cells = append(cells, c)
		}
	}

	for i := range cells {
		if rest := cells[i].rest; rest != nil {
			// Paths that contain each other leave no projection, and the cell is not shown.
			cells[i].project, _ = expression.BuildProjection(rest)
		}
	}

	return cells
}

// of returns the value of the cell in the item's row.
func (c *cell) of(item attr.Item) (attr.Value, bool) {
	v, ok := c.path.Lookup(item)
	if !ok || c.rest == nil {
		return v, ok
	}

	if c.project == nil {
		return v, false
	}
	v, ok = c.project.Apply(attr.Item{inCell: v})[inCell]

	return v, ok
}
