package capacity

import "slices"

// Units counts capacity in halves of units: an eventually consistent read costs half a
// unit.
type Units int

// Float returns the number of units.
func (h Units) Float() float64 { return float64(h) / 2 }

// Read returns the cost of reading a number of bytes in one call: a unit for each 4 KB, half
// of that if eventually consistent. A missing item costs as much as a small one.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
func Read(bytes int, consistent bool) Units {
	steps := max(1, (bytes+4095)/4096)
	if consistent {
		return Units(2 * steps)
	}

	return Units(steps)
}

// Write returns the cost of writing an item or an entry of that size: a unit for each 1 KB.
func Write(bytes int) Units { return Units(2 * max(1, (bytes+1023)/1024)) }

// Spent is the capacity that a call consumed in one table and its indexes.
type Spent struct {
	Table   Units
	Indexes []Index
}

// Index is the capacity that a call consumed in one index.
type Index struct {
	Name  string
	Local bool
	Units Units
}

// OnTable returns the consumption of a call that used no index.
func OnTable(units Units) Spent { return Spent{Table: units} }

// Total returns the sum of the table and its indexes.
func (s *Spent) Total() Units {
	sum := s.Table
	for _, x := range s.Indexes {
		sum += x.Units
	}

	return sum
}

// add adds the consumption of another call in the same table.
func (s *Spent) add(other Spent) {
	s.Table += other.Table

	for _, x := range other.Indexes {
		i := slices.IndexFunc(s.Indexes, func(o Index) bool { return o.Name == x.Name })
		if i < 0 {
			s.Indexes = append(s.Indexes, x)
		} else {
			s.Indexes[i].Units += x.Units
		}
	}
}

// Sum is what a call consumed in several tables, by their names.
type Sum map[string]*Spent

// Add adds a consumption in a table.
func (s Sum) Add(table string, other Spent) {
	if s[table] == nil {
		s[table] = &Spent{}
	}

	s[table].add(other)
}
