package streams

import "sync"

// recordMemo keeps the values that handlers have made from one record, while the record is pending.
type recordMemo struct {
	mu    sync.Mutex
	made  []memoized
	first [1]memoized // the array of made for the first value; usually there is only one
}

type memoized struct{ key, value any }

// Remember makes the record, and its copies from now on, keep the values of Memo.
func (r *Record) Remember() { r.memo = &recordMemo{} }

// Memo returns the result of make for the record. The first call of Memo with the key calls make.
// All other calls with the key, in filters and handlers, return the same value, which they must not
// modify. So a record that several handlers decode is decoded once. make must not call Memo for the
// same record. Only records that come directly from a shard keep the values: for others, for
// example from the retry queue, each call of Memo calls make. The values do not count towards the
// memory limit of unfinished records.
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
