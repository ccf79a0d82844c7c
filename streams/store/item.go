package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
)

// ItemKey returns the item's primary key as text; records with the same key share a
// lane. The key attributes of a table never change their names or types, so the
// values alone identify an item. If there are two, the first value is preceded by its
// length, so that no two pairs have the same text.
func ItemKey(r streams.Record) string {
	if len(r.Keys) == 1 {
		for _, v := range r.Keys {
			return scalar(v)
		}
	}

	// At most two: a partition key and a sort key, in the order of their names.
	var firstName, first, second string
	for name, v := range r.Keys {
		if firstName == "" || name < firstName {
			firstName, first, second = name, scalar(v), first
		} else {
			second = scalar(v)
		}
	}

	return strconv.Itoa(len(first)) + ":" + first + second
}

// scalar returns the value of a key attribute, which is a string, a number or bytes.
func scalar(v ddbtypes.AttributeValue) string {
	switch v := v.(type) {
	case *ddbtypes.AttributeValueMemberS:
		return v.Value
	case *ddbtypes.AttributeValueMemberN:
		return v.Value
	case *ddbtypes.AttributeValueMemberB:
		return string(v.Value)
	}

	return ""
}

// ItemHash identifies an item for one handler.
type ItemHash [16]byte

// HashOf returns the hash of the key of an item.
func HashOf(key string) ItemHash {
	sum := sha256.Sum256([]byte(key))
	return ItemHash(sum[:])
}

// Text returns the hash as lowercase hexadecimal digits.
func (h ItemHash) Text() string { return hex.EncodeToString(h[:]) }
