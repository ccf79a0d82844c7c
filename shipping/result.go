package shipping

import "encoding/json"

// result is what the claim of a shipment stores.
type result struct {
	Tracking *string `json:"tracking,omitempty"` // nil if canceled
	Canceled bool    `json:"canceled,omitempty"`
}

func (r result) encode() ([]byte, error) { return json.Marshal(r) }

// earlierCanceled is the whole result of a booking that came after its cancellation, as
// earlier versions stored it. Their other results are tracking numbers.
const earlierCanceled = "cancelled"

// decodeResult reads a stored result. Text that is no JSON object is that of an earlier
// version.
func decodeResult(text []byte) result {
	var r result
	if err := json.Unmarshal(text, &r); err == nil && (r.Canceled || r.Tracking != nil) {
		return r
	}

	if string(text) == earlierCanceled {
		return result{Canceled: true}
	}

	tracking := string(text)

	return result{Tracking: &tracking}
}
