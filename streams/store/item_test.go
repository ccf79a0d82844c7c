package store

import (
	"testing"

	"pgregory.net/rapid"

	"ratchet/internal/dynamo"
	"ratchet/streams"
)

func TestItemsHaveDifferentKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab1:")), 0, 4, -1)

		key := func(a, b string) string {
			return ItemKey(streams.Record{Keys: dynamo.Item{"pk": dynamo.S(a), "sk": dynamo.S(b)}})
		}
		a1, b1, a2, b2 := text.Draw(t, "a1"), text.Draw(t, "b1"), text.Draw(t, "a2"), text.Draw(t, "b2")
		if same := a1 == a2 && b1 == b2; (key(a1, b1) == key(a2, b2)) != same {
			t.Fatalf("keys %q and %q", key(a1, b1), key(a2, b2))
		}
	})

	if k := ItemKey(streams.Record{Keys: dynamo.Item{"pk": dynamo.S("x")}}); k != "x" {
		t.Errorf("single key %q", k)
	}
}

func TestKeysOfEveryKeyTypeAreTold(t *testing.T) {
	for _, c := range []struct {
		keys dynamo.Item
		want string
	}{
		{keys: dynamo.Item{"id": dynamo.S("x")}, want: "x"},
		{keys: dynamo.Item{"id": dynamo.N(7)}, want: "7"},
		{keys: dynamo.Item{"id": dynamo.B([]byte("bytes"))}, want: "bytes"},
		{keys: dynamo.Item{"pk": dynamo.S("ab"), "sk": dynamo.N(7)}, want: "2:ab7"},
		{keys: dynamo.Item{"pk": dynamo.S("a"), "a sort key": dynamo.N(12)}, want: "2:12a"},
	} {
		if got := ItemKey(streams.Record{Keys: c.keys}); got != c.want {
			t.Errorf("itemKey = %q, want %q", got, c.want)
		}
	}
}
