package transitions

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
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

// digestOf returns the digest of the parts.
func digestOf(parts ...string) digest { return digest(ids.Digest(parts...)[:16]) }
