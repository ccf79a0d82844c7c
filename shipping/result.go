package shipping

import (
	"encoding/json"
	"errors"
	"fmt"
)

// result is the stored result of a shipment's claim.
type result struct {
	Tracking *string `json:"tracking,omitempty"` // nil if canceled
	Canceled bool    `json:"canceled,omitempty"`
}

func (r result) encode() ([]byte, error) { return json.Marshal(r) }

// decodeResult reads a stored result.
func decodeResult(text []byte) (r result, err error) {
	if err = json.Unmarshal(text, &r); err == nil && r.Tracking == nil && !r.Canceled {
		err = errors.New("it has no tracking number and no cancellation")
	}

	if err != nil {
		return result{}, fmt.Errorf("read the stored result: %w", err)
	}

	return r, nil
}
