package keyspace

import "ratchet/embedded/internal/attr"

// Attr is one attribute of a primary key. The name is empty for the sort key of a table
// that has none.
type Attr struct {
	Name string
	Kind attr.Kind
}

// Schema is the key of a table or of an index. It never changes.
type Schema struct {
	Hash, Range Attr
	// MoreHash and MoreRange are the further attributes of the partition key and of the sort key. Only
	// global indexes have them.
	MoreHash  []Attr `json:",omitempty"`
	MoreRange []Attr `json:",omitempty"`
}

// Has reports whether the attribute is part of the key.
func (k *Schema) Has(name string) bool {
	for i := range k.Count() {
		if k.At(i).Name == name {
			return true
		}
	}

	return false
}

// IsMulti reports whether the partition key or the sort key has several attributes.
func (k *Schema) IsMulti() bool { return len(k.MoreHash)+len(k.MoreRange) > 0 }

// Hashes returns the number of attributes of the partition key.
// Has reports whether the attribute is part of the key.
func (k *Schema) Hashes() int { return 1 + len(k.MoreHash) }

// Count returns the number of key attributes.
func (k *Schema) Count() int {
	if k.Range.Name == "" {
		return k.Hashes()
	}

	return k.Hashes() + 1 + len(k.MoreRange)
}

// At returns the i-th key attribute. The attributes of the partition key come first.
func (k *Schema) At(i int) Attr {
	n := k.Hashes()
	switch {
	case i == 0:
		return k.Hash
	case i < n:
		return k.MoreHash[i-1]
	case i == n:
		return k.Range
	}

	return k.MoreRange[i-n-1]
}

// Attrs returns the key attributes, beginning with the partition key.
func (k *Schema) Attrs() []Attr {
	all := make([]Attr, k.Count())
	for i := range all {
		all[i] = k.At(i)
	}

	return all
}
