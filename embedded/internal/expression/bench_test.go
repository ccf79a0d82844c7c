package expression

import (
	"testing"

	"ratchet/embedded/internal/attr"
)

// transition is the order's write: the expression that the engine parses most.
const (
	transitionCondition = "attribute_exists(orderId) AND #state = :from AND (attribute_not_exists(transitionId) OR transitionId < :id)"
	transitionUpdate    = "SET #state = :to, previousState = #state, transitionId = :id, updatedAt = :at, recent.#slot = :ring"
)

func transitionParams() *Params {
	return NewParams(
		map[string]string{"#state": "orderState", "#slot": "s3"},
		map[string]attr.Value{
			":from": {Kind: attr.S, Str: "NEW"}, ":to": {Kind: attr.S, Str: "PAID"},
			":id": {Kind: attr.N, Str: "7"}, ":at": {Kind: attr.S, Str: "2026-01-01T00:00:00Z"},
			":ring": {Kind: attr.M, Map: attr.Item{"id": {Kind: attr.N, Str: "7"}}},
		})
}

func order() attr.Item {
	return attr.Item{
		"orderId": {Kind: attr.S, Str: "o-1"}, "orderState": {Kind: attr.S, Str: "NEW"},
		"transitionId": {Kind: attr.N, Str: "6"}, "recent": {Kind: attr.M, Map: attr.Item{"s2": {Kind: attr.M, Map: attr.Item{}}}},
	}
}

func BenchmarkParseCondition(b *testing.B) {
	p := transitionParams()
	b.ReportAllocs()

	for b.Loop() {
		if _, err := ParseCondition("ConditionExpression", transitionCondition, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseUpdate(b *testing.B) {
	p := transitionParams()
	b.ReportAllocs()

	for b.Loop() {
		if _, err := ParseUpdate(transitionUpdate, p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTransition is a whole conditional update: parse both, check, match, apply.
func BenchmarkTransition(b *testing.B) {
	item := order()
	b.ReportAllocs()

	for b.Loop() {
		p := transitionParams()

		c, err := ParseCondition("ConditionExpression", transitionCondition, p)
		if err != nil {
			b.Fatal(err)
		}

		u, err := ParseUpdate(transitionUpdate, p)
		if err != nil {
			b.Fatal(err)
		}

		if err := p.Unused(); err != nil {
			b.Fatal(err)
		}

		if ok, err := c.Match(item); !ok || err != nil {
			b.Fatal(ok, err)
		}

		if _, err := u.Apply(item); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	c, err := ParseCondition("ConditionExpression", transitionCondition, transitionParams())
	if err != nil {
		b.Fatal(err)
	}
	item := order()
	b.ReportAllocs()

	for b.Loop() {
		if ok, _ := c.Match(item); !ok {
			b.Fatal("no match")
		}
	}
}
