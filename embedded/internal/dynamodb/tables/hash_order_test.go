package tables

import (
	"strings"
	"testing"
)

// Source: https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/attribute_definition_messages.rs, whose
// lists were recorded on the service
func TestTheOrderOfNamesInMessages(t *testing.T) {
	for _, row := range []struct {
		names, want string
		buckets     uint32
	}{
		{"PK h a unused", "h a unused PK", smallTable},
		{"orderId customerId status createdAt notUsed", "customerId createdAt notUsed orderId status", smallTable},
		{"PK a b c d u1 u2", "a b c d PK u1 u2", smallTable},
		{"PK a b c d u1", "a b PK c d u1", smallTable},
		{"h a zz", "h zz a", smallTable},
		{"w x y q", "x y q w", smallTable},
		{"pk l", "l pk", smallTable},
		{"PK h a", "a h PK", largeTable},
		{"orderId customerId createdAt status", "createdAt orderId customerId status", largeTable},
		{"PK g1 g2 g3 g4 g5 g6 g7 g8 g9 g10 g11 g12 g13 g14", "g11 g10 g13 g12 g1 g2 g14 g3 g4 g5 g6 g7 g8 g9 PK", largeTable},
		{"a a", "a", smallTable},
	} {
		if got := strings.Join(hashOrder(strings.Fields(row.names), row.buckets), " "); got != row.want {
			t.Errorf("%s in %d buckets\n got %s\nwant %s", row.names, row.buckets, got, row.want)
		}
	}
}
