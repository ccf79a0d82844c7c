package keys

import (
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/store"
)

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
