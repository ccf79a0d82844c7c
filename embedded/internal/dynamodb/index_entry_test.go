package dynamodb

import (
	"encoding/hex"
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
)

// The store has entries under these keys: they must never change.
func TestKeysOfEntries(t *testing.T) {
	s, n := func(name string) keyspace.Attr { return keyspace.Attr{Name: name, Kind: attr.S} }, func(name string) keyspace.Attr { return keyspace.Attr{Name: name, Kind: attr.N} }
	item := attr.Item{
		"id": text("p"), "sk": text("q"), "a": text("a\x00"), "b": text("b"), "x": {Kind: attr.N, Str: "1"}, "y": {Kind: attr.N, Str: "-20"},
	}

	table := keyspace.Space{Keys: keyspace.Schema{Hash: s("id"), Range: s("sk")}, Prefix: keyspace.TablePrefix(keyspace.KindItem, 7)}

	key, err := table.KeyIn(item)
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range []struct {
		keys keyspace.Schema
		want string // hash, key and primary key, behind the prefix of the index
	}{
		{keyspace.Schema{Hash: s("a")}, "9b4a735c106100ff00011070000110710001"},
		{keyspace.Schema{Hash: s("a"), Range: n("x")}, "9b4a735c106100ff0001224102001070000110710001"},
		{keyspace.Schema{Hash: s("a"), MoreHash: []keyspace.Attr{n("x")}}, "5f218a9c106100ff0001224102001070000110710001"},
		{keyspace.Schema{Hash: s("a"), MoreHash: []keyspace.Attr{s("b"), n("x")}, Range: n("y"), MoreRange: []keyspace.Attr{s("id"), s("sk")}}, "6b3aa431106100ff0001106200012241020020beeaff10700001107100011070000110710001"},
	} {
		x := indexes.Index{No: 3, Keys: row.keys}
		if got := hex.EncodeToString(x.EntryKey(&table, item, key.Bytes)[len(x.Space().Prefix):]); got != row.want {
			t.Errorf("%+v\n got %s\nwant %s", row.keys, got, row.want)
		}
	}
}
