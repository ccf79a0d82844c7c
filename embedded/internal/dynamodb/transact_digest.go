package dynamodb

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
)

// digest identifies the content of a transaction, whatever the order of members in its JSON.
func (in *transactWriteIn) digest() [sha256.Size]byte {
	var b []byte
	text := func(s *string) {
		if s == nil {
			b = append(b, 0)
			return
		}

		// Each text has its length before it, so that the same bytes cannot be split into
		// other texts.
		b = append(binary.AppendUvarint(append(b, 1), uint64(len(*s))), *s...)
	}
	for i := range in.TransactItems {
		for kind, a := range in.TransactItems[i].parts() {
			if a == nil {
				continue
			}
			b = append(b, byte(kind))
			text(a.TableName)
			text(a.UpdateExpression)
			text(a.ConditionExpression)
			text(&a.ReturnValuesOnConditionCheckFailure)

			// A member that the action does not have is not checked: its values may be none.
			content := a.Key
			if verb(kind) == put {
				content = a.Item
			}
			b = attr.AppendBinary(attr.AppendBinary(b, content), a.ExpressionAttributeValues)

			for _, name := range slices.Sorted(maps.Keys(a.ExpressionAttributeNames)) {
				value := a.ExpressionAttributeNames[name]
				text(&name)
				text(&value)
			}
		}
	}

	return sha256.Sum256(b)
}
