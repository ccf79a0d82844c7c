package ids

import (
	"crypto/sha256"
	"encoding/binary"
)

// Digest is the SHA-256 of texts, each hashed with its length before it, so that "a", "bc" and "ab", "c" differ.
func Digest(texts ...string) []byte {
	h := sha256.New()

	var size [8]byte
	for _, text := range texts {
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}

	return h.Sum(nil)
}
