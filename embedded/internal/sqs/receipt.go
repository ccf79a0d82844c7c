package sqs

import (
	"encoding/base64"
	"encoding/binary"

	"ratchet/embedded/internal/wire"
)

// receipt is the content of a receipt handle. It identifies one receive of one message.
type receipt struct{ queue, message, nonce uint64 }

// String returns the receipt handle.
func (r receipt) String() string {
	b := binary.BigEndian.AppendUint64(nil, r.queue)
	b = binary.BigEndian.AppendUint64(b, r.message)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, r.nonce))
}

// messageOf returns the message of a receipt handle, nil when the message is gone.
// current is false when the message is gone or was received again since: what that means
// depends on the operation.
func (q *queue) messageOf(handle string) (m *message, current bool, err error) {
	if handle == "" {
		return nil, false, missingParameter("ReceiptHandle")
	}

	b, err := base64.RawURLEncoding.Strict().DecodeString(handle)
	if err != nil || len(b) != 24 {
		return nil, false, wire.Errorf("ReceiptHandleIsInvalid",
			"The input receipt handle \"%s\" is not a valid receipt handle.", handle)
	}

	r := receipt{
		queue:   binary.BigEndian.Uint64(b),
		message: binary.BigEndian.Uint64(b[8:]),
		nonce:   binary.BigEndian.Uint64(b[16:]),
	}
	if r.queue != q.ID {
		return nil, false, wire.Errorf("ReceiptHandleIsInvalid",
			"The receipt handle \"%s\" is not valid for this queue.", handle)
	}

	m = q.messages[r.message]

	return m, m != nil && m.Nonce == r.nonce, nil
}

func expiredReceipt(handle string) error {
	return invalidParameter("ReceiptHandle", handle, "The receipt handle has expired.")
}
