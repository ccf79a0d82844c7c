package tables

import (
	"slices"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/wire"
)

// globalKeys checks the KeySchema of a global index against the definitions and returns the key. The
// partition key's attributes come before the sort key's.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.MultiAttributeKeys;
// the messages: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/multi_attribute_keys.rs,
// "a_gsi_key_schema_is_checked_against_the_multi_attribute_rules", recorded on the service
func (d definitions) globalKeys(schema []keyElementIn) (k keyspace.Schema, err error) {
	names, err := d.keyNames(schema)
	if err != nil {
		return k, err
	}

	// Two HASH elements are a partition key of two attributes. All other pairs have the messages of
	// a table's key.
	isPair := len(schema) == 2 && (*schema[0].KeyType != "HASH" || *schema[1].KeyType != "HASH")
	if len(schema) == 1 || isPair {
		return d.keys(schema)
	}

	return d.multiKey(schema, names)
}

// multiKey returns a key that has more than a partition key and a sort key of one attribute each.
func (d definitions) multiKey(schema []keyElementIn, names []string) (k keyspace.Schema, err error) {
	if *schema[0].KeyType != "HASH" {
		return k, wire.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}

	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return k, wire.Invalid("The KeySchema contains multiple key attributes with the same name")
		}
	}

	var hashes, sorts []keyspace.Attr
	for i, e := range schema {
		switch {
		case *e.KeyType == "RANGE":
			sorts = append(sorts, d.of(names[i]))
		case len(sorts) > 0:
			return k, wire.Invalid("One or more parameter values were invalid: All HASH key attributes must precede RANGE key attributes in the KeySchema")
		default:
			hashes = append(hashes, d.of(names[i]))
		}
	}

	for _, part := range []struct {
		kind  string
		attrs []keyspace.Attr
	}{{"HASH", hashes}, {"RANGE", sorts}} {
		if len(part.attrs) > maxKeyPart {
			return k, wire.Invalid("One or more parameter values were invalid: The KeySchema exceeds the maximum allowed number of %s key attributes", part.kind)
		}
	}

	// The first element is a HASH, so hashes has one at least.
	k.Hash, k.MoreHash = hashes[0], hashes[1:]
	if len(sorts) > 0 {
		k.Range, k.MoreRange = sorts[0], sorts[1:]
	}

	return k, nil
}
