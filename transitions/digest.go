package transitions

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// digest is the first 128 bits of a SHA-256: small enough to keep in an order's item.
type digest [16]byte

// value is the digest as an attribute.
func (d digest) value() types.AttributeValue { return dynamo.B(d[:]) }

// digest returns the trace of the request id that the item keeps.
func (id RequestID) digest() digest { return digestOf(string(id)) }

// digestOf hashes the parts, each with its length, so that ("a","bc") and
// ("ab","c") differ.
func digestOf(parts ...string) digest {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}

	return digest(h.Sum(nil)[:16])
}
