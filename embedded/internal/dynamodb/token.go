package dynamodb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/store"
)

// tokenLife is how long a ClientRequestToken protects from a second execution.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 10 * time.Minute

// maxToken is how long a token can be.
const maxToken = 36

// span returns the number of the span of time that now falls into. Spans are as long as a
// token lives: a token is stored under its span, is looked for under the current span and
// the one before, and is deleted with its whole span.
func span(now time.Time) uint64 { return uint64(now.UnixMilli() / tokenLife.Milliseconds()) }

// token is a ClientRequestToken with the digest of the request it came with.
type token struct {
	text   string
	digest [sha256.Size]byte
	lock   uint64
}

// checkToken checks a ClientRequestToken against the API model.
func checkToken(text *string) error {
	if text == nil {
		return nil
	}

	var c constraints
	c.Length(len(*text), *text, "clientRequestToken", 1, maxToken)

	return c.Err()
}

// newToken returns the ClientRequestToken of a request, nil if it has none. digest identifies the content
// of the request, whose values must have been checked: only values that can be stored have a digest.
func newToken(text *string, digest func() [sha256.Size]byte) *token {
	if text == nil {
		return nil
	}

	return &token{text: *text, digest: digest(), lock: keyspace.Hash([]byte(*text))}
}

func spanPrefix(n uint64) []byte {
	return binary.BigEndian.AppendUint64(keyspace.StoreKey(keyspace.KindToken), n)
}

func (t *token) key(span uint64) []byte { return append(spanPrefix(span), t.text...) }

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

// tokenUsed reports whether the token was used within its life, and whether by the same request. The caller
// holds the token's stripe.
func (s *Service) tokenUsed(t *token, now time.Time) (used, same bool, err error) {
	for _, n := range []uint64{span(now), span(now) - 1} {
		raw, ok, err := s.db.Get(t.key(n))
		if err != nil {
			return false, false, err
		}

		if !ok {
			continue
		}

		if len(raw) != 8+sha256.Size {
			return false, false, errors.New("a stored request token has the wrong length")
		}

		expires := time.UnixMilli(int64(binary.BigEndian.Uint64(raw)))

		// A token in the span before the current one may be too old.
		if expires.After(now) {
			return true, bytes.Equal(raw[8:], t.digest[:]), nil
		}
	}

	return false, false, nil
}

// stage adds the token to the batch of its transaction.
func (t *token) stage(b *store.Batch, now time.Time) {
	expires := uint64(now.Add(tokenLife).UnixMilli())
	b.Set(t.key(span(now)), append(binary.BigEndian.AppendUint64(nil, expires), t.digest[:]...))
}

// deleteOldTokens deletes the spans in which tokenUsed no longer looks.
func (s *Service) deleteOldTokens(now time.Time) error {
	current := span(now)

	// tokenUsed looks in the current span and the one before.
	if current-2 <= s.tokensDeletedTo {
		return nil
	}
	b := s.db.NewBatch()
	b.DeleteRange(keyspace.StoreKey(keyspace.KindToken), spanPrefix(current-1))

	if err := b.Commit(); err != nil {
		return err
	}
	s.tokensDeletedTo = current - 2

	return nil
}
