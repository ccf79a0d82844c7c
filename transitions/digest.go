package transitions

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// digest is the first 128 bits of a SHA-256: small enough to keep in an order's item.
type digest [16]byte

// value is the digest as an attribute.
func (d digest) value() types.AttributeValue { return dynamo.B(d[:]) }

// digest returns the digest of the request id, which the item keeps.
func (id RequestID) digest() digest { return digestOf(string(id)) }

// The request ids of this package itself begin with these prefixes.
const (
	parcelKeys    = "parcel/"
	migrationKeys = "migration/"
)

// key returns the digest under which a caller's request is known. It differs from the
// digests of this package's own requests, even for an id with one of their prefixes.
func (id RequestID) key() digest {
	if strings.HasPrefix(string(id), parcelKeys) || strings.HasPrefix(string(id), migrationKeys) {
		// The id is hashed with another part, so that no caller's request is taken for a parcel or
		// a migration.
		return digestOf("request", string(id))
	}

	return id.digest()
}

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
