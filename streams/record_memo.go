package streams

import "sync"

// recordMemo keeps the values that handlers have made from one record, while the record is pending.
type recordMemo struct {
	mu    sync.Mutex
	made  []memoized
	first [1]memoized // room for the usual one
}

type memoized struct{ key, value any }

// Memo returns what make returns for the record. The first caller with the key calls make;
// all others, in filters and handlers, get the same value, and must not modify it. So a
// record that several handlers decode is decoded once. Records that do not come from a
// shard, but from the retry queue for example, do not remember: make is then called each
// time. The value counts towards no bound of memory.
func (r Record) Memo(key any, make func() any) any {
	if r.memo == nil {
		return make()
	}

	r.memo.mu.Lock()
	defer r.memo.mu.Unlock()

	for _, m := range r.memo.made {
		if m.key == key {
			return m.value
		}
	}

	if r.memo.made == nil {
		r.memo.made = r.memo.first[:0]
	}
	value := make()
	r.memo.made = append(r.memo.made, memoized{key, value})

	return value
}
