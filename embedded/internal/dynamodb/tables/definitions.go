package tables

import (
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/wire"
)

// definitions are the attributes that a request defines, in its order.
type definitions []keyspace.Attr

// parseDefinitions returns AttributeDefinitions, which were checked against the API model.
func parseDefinitions(list []attributeDefinitionIn) (definitions, error) {
	var out definitions
	for _, d := range list {
		if out.has(*d.AttributeName) {
			// Source: finding DDB-TABLE-127 of ack-api-quirks, services/dynamodb, recorded on the service
			return nil, wire.Invalid("Attribute Name is duplicated: %s", *d.AttributeName)
		}

		out = append(out, keyspace.Attr{Name: *d.AttributeName, Kind: keyKinds[*d.AttributeType]})
	}

	return out, nil
}

// has reports whether an attribute is defined.
func (d definitions) has(name string) bool {
	return slices.ContainsFunc(d, func(k keyspace.Attr) bool { return k.Name == name })
}

func (d definitions) names() (names []string) {
	for _, k := range d {
		names = append(names, k.Name)
	}

	return names
}

// keyNames returns the attributes of a KeySchema, all of which must be defined.
func (d definitions) keyNames(schema []keyElementIn) ([]string, error) {
	// In this case the service names no attributes.
	if len(schema) > len(d) {
		return nil, wire.Invalid("Invalid KeySchema: Some index key attribute have no definition")
	}

	names := make([]string, len(schema))
	for i, e := range schema {
		names[i] = *e.AttributeName
	}

	if slices.ContainsFunc(names, func(name string) bool { return !d.has(name) }) {
		return nil, wire.Invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
			model.List(hashOrder(names, smallTable)), model.List(hashOrder(d.names(), smallTable)))
	}

	return names, nil
}

// keys checks a KeySchema of one or two elements against the definitions and returns the key.
func (d definitions) keys(schema []keyElementIn) (k keyspace.Schema, err error) {
	names, err := d.keyNames(schema)
	if err != nil {
		return k, err
	}

	if len(names) == 2 && names[0] == names[1] {
		return k, wire.Invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}

	if *schema[0].KeyType != "HASH" {
		return k, wire.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}
	k.Hash = d.of(names[0])

	if len(schema) < 2 {
		return k, nil
	}

	if *schema[1].KeyType != "RANGE" {
		return k, wire.Invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	k.Range = d.of(names[1])

	return k, nil
}

// of returns the definition of an attribute, which must be defined.
func (d definitions) of(name string) keyspace.Attr {
	return d[slices.IndexFunc(d, func(k keyspace.Attr) bool { return k.Name == name })]
}

// checkUsed refuses definitions that no key uses.
func (d definitions) checkUsed(r *Record) error {
	var unused []string
	for _, k := range d {
		if !r.usesKey(k.Name) {
			unused = append(unused, k.Name)
		}
	}

	switch {
	case len(unused) == 0:
		return nil
	case len(r.Indexes) == 0:
		return wire.Invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}

	return wire.Invalid("One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
		model.List(hashOrder(d.names(), smallTable)), model.List(hashOrder(r.definitions().names(), largeTable)))
}

// usesKey reports whether the attribute is part of a key of the table or of an index.
func (r *Record) usesKey(name string) bool {
	return r.Keys.Has(name) || slices.ContainsFunc(r.Indexes, func(x indexes.Index) bool { return x.Keys.Has(name) })
}

// definitions returns the attributes of all keys, the table's keys first.
func (r *Record) definitions() (all definitions) {
	add := func(keys keyspace.Schema) {
		for _, k := range keys.Attrs() {
			// An attribute may be part of several keys.
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	add(r.Keys)

	for i := range r.Indexes {
		add(r.Indexes[i].Keys)
	}

	return all
}

func (d definitions) wire() []attributeDefinition {
	list := make([]attributeDefinition, len(d))
	for i, k := range d {
		list[i] = attributeDefinition{k.Name, k.Kind.String()}
	}

	return list
}

var keyKinds = map[string]attr.Kind{"S": attr.S, "N": attr.N, "B": attr.B}
