package ordered

import (
	"testing"

	"pgregory.net/rapid"
)

// The heap and a plain map that is searched for its minimum agree after every step.
func TestKeysAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o Keys[int]
		model := map[int]int64{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			key := rapid.IntRange(0, 30).Draw(t, "key")
			if rapid.Bool().Draw(t, "set") {
				model[key] = int64(rapid.IntRange(0, 50).Draw(t, "order"))
				o.Set(key, model[key])
			} else {
				delete(model, key)
				o.Remove(key)
			}

			for key := range 31 {
				order, ok := o.Order(key)
				if want, there := model[key]; ok != there || order != want {
					t.Fatalf("key %d has order %d, %v; want %d, %v", key, order, ok, want, there)
				}
			}

			_, first, ok := o.Min()

			least := int64(1 << 62)
			for _, order := range model {
				least = min(least, order)
			}

			if ok != (len(model) > 0) || ok && first != least || o.Len() != len(model) {
				t.Fatalf("first %d of %d, want %d of %d", first, o.Len(), least, len(model))
			}
		}
	})
}
