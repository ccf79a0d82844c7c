package lanes

import (
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/streams"
)

// minRecordSize is the least that a record counts towards Config.maxPendingBytes.
const minRecordSize = 256

// recordSize returns the bytes that a record counts towards Config.maxPendingBytes. Not every endpoint
// reports the size.
func recordSize(r *streams.Record) int64 {
	size := r.SizeBytes
	if size == 0 {
		size = imageSize(r.Keys) + imageSize(r.Old) + imageSize(r.New)
	}

	return max(size, minRecordSize)
}

// imageSize returns about how many bytes an item has.
func imageSize(item map[string]ddbtypes.AttributeValue) int64 {
	size := int64(0)
	for name, v := range item {
		size += int64(len(name)) + valueSize(v)
	}

	return size
}

func valueSize(in ddbtypes.AttributeValue) int64 {
	size := int64(1)
	switch v := in.(type) {
	case *ddbtypes.AttributeValueMemberS:
		size += int64(len(v.Value))
	case *ddbtypes.AttributeValueMemberN:
		size += int64(len(v.Value))
	case *ddbtypes.AttributeValueMemberB:
		size += int64(len(v.Value))
	case *ddbtypes.AttributeValueMemberM:
		size += imageSize(v.Value)
	case *ddbtypes.AttributeValueMemberL:
		for _, e := range v.Value {
			size += valueSize(e)
		}
	case *ddbtypes.AttributeValueMemberSS:
		for _, e := range v.Value {
			size += int64(len(e))
		}
	case *ddbtypes.AttributeValueMemberNS:
		for _, e := range v.Value {
			size += int64(len(e))
		}
	case *ddbtypes.AttributeValueMemberBS:
		for _, e := range v.Value {
			size += int64(len(e))
		}
	}

	return size
}
