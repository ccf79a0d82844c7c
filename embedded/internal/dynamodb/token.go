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
	"ratchet/embedded/internal/store"
)

// tokenLife is how long a ClientRequestToken protects from a second execution.
const tokenLife = 10 * time.Minute

// token is a ClientRequestToken with the digest of the request it came with.
type token struct {
	text   string
	digest [sha256.Size]byte
	lock   uint64
}

func newToken(text string, in *transactWriteIn) *token {
	return &token{text: text, digest: in.digest(), lock: hashBytes(tokenKey([]byte(text)))}
}

func tokenKey(text []byte) []byte { return storeKey(kindToken, text...) }

func tokenAtKey(expires uint64, text []byte) []byte {
	return append(binary.BigEndian.AppendUint64(storeKey(kindTokenAt), expires), text...)
}

// digest identifies what a transaction asks for, whatever the order in which its
// maps were written.
func (in *transactWriteIn) digest() [sha256.Size]byte {
	var b []byte
	text := func(s *string) {
		if s == nil {
			b = append(b, 0)
			return
		}
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
			for _, items := range []attr.Item{a.Item, a.Key, a.ExpressionAttributeValues} {
				b = attr.AppendBinary(b, items)
			}
			for _, name := range slices.Sorted(maps.Keys(a.ExpressionAttributeNames)) {
				value := a.ExpressionAttributeNames[name]
				text(&name)
				text(&value)
			}
		}
	}
	return sha256.Sum256(b)
}

// seen tells whether the token was used within its life, and whether for the
// same request. The caller holds the token's stripe.
func (s *Service) seen(t *token, now time.Time) (used, same bool, err error) {
	raw, ok, err := s.db.Get(tokenKey([]byte(t.text)))
	if err != nil || !ok {
		return false, false, err
	}
	if len(raw) != 8+sha256.Size {
		return false, false, errors.New("a stored request token has the wrong length")
	}
	if int64(binary.BigEndian.Uint64(raw)) <= now.UnixMilli() { //nolint:gosec // written by stage
		return false, false, nil
	}
	return true, bytes.Equal(raw[8:], t.digest[:]), nil
}

// stage puts the token into the batch of its transaction.
func (t *token) stage(b *store.Batch, now time.Time) {
	expires := uint64(now.Add(tokenLife).UnixMilli()) //nolint:gosec // after 1970
	b.Set(tokenKey([]byte(t.text)), append(binary.BigEndian.AppendUint64(nil, expires), t.digest[:]...))
	b.Set(tokenAtKey(expires, []byte(t.text)), nil)
}

// forgetTokens removes the tokens whose life has ended.
func (s *Service) forgetTokens(now time.Time) error {
	lo := storeKey(kindTokenAt)
	hi := tokenAtKey(uint64(now.UnixMilli()), nil) //nolint:gosec // after 1970
	for lo != nil {
		keys, next, err := s.keysFrom(lo, hi)
		if err != nil {
			return err
		}
		lo = next
		for _, k := range keys {
			if err := s.forgetToken(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetToken removes one entry of the index of tokens, and the token itself
// unless it has been used anew.
func (s *Service) forgetToken(at []byte) error {
	expires, text := at[2:10], at[10:]
	key := tokenKey(text)
	st := s.stripes.of(hashBytes(key))
	st.mu.Lock()
	defer st.mu.Unlock()
	raw, ok, err := s.db.Get(key)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	b.Delete(at)
	if ok && bytes.HasPrefix(raw, expires) {
		b.Delete(key)
	}
	return b.CommitLater()
}
