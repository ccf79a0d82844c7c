package keys

import (
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/store"
)

// Each calls fn with each record of a kind, in the order of their keys, until fn returns false or an error.
func Each(db *store.DB, kind byte, fn func(k, v []byte) (bool, error)) error {
	prefix := Of(kind)
	return db.Scan(prefix, store.PrefixEnd(prefix), false, fn)
}

// Store stores a record as JSON under a key.
func Store(db *store.DB, key []byte, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}

	b := db.NewBatch()
	b.Set(key, text)

	if err := b.Commit(); err != nil {
		return fmt.Errorf("store a record: %w", err)
	}

	return nil
}
