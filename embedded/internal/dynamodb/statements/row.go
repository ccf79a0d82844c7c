package statements

import (
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/partiql"
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

// Row returns the function that makes a SELECT's row from an item, nil for all columns. A
// column has the name of its last member, but an element of a list other than the first ends the name:
// a.b[0].c is shown as c, and a.b[2].c as the c in an attribute "b[2]", as in DynamoDB Local 3.1.0.
// AWS documents no names.
func Row(columns []expression.Path) func(attr.Item) attr.Item {
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
		c := cellOf(path)

		same := slices.IndexFunc(cells, func(o cell) bool { return o.name == c.name })
		switch {
		case same < 0:
			cells = append(cells, c)
		case slices.Equal(cells[same].path, c.path) && cells[same].rest != nil && c.rest != nil:
			// Columns within one element of a list share its cell.
			cells[same].rest = append(cells[same].rest, c.rest...)
		default:
			// Elements of two lists can have one name. The column then keeps the name of its last
			// member, which no other column has: the parser refuses duplicates.
			cells = append(cells, cell{name: partiql.ColumnName(path), path: path})
		}
	}

	for i := range cells {
		if rest := cells[i].rest; rest != nil {
			// The parser refuses paths that contain each other, so there is a projection.
			cells[i].project, _ = expression.BuildProjection(rest)
		}
	}

	return cells
}

// cellOf returns the cell of one column.
func cellOf(path expression.Path) cell {
	n := slices.IndexFunc(path, func(s expression.Step) bool { return s.List && s.Index > 0 })
	if n < 0 || n == len(path)-1 {
		return cell{name: partiql.ColumnName(path), path: path}
	}

	element := path[:n+1]

	return cell{name: partiql.ColumnName(element), path: element, rest: []expression.Path{append(expression.Path{{Name: inCell}}, path[n+1:]...)}}
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
