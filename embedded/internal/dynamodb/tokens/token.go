package tokens

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
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

// Token is a ClientRequestToken with the digest of the request it came with.
type Token struct {
	text   string
	digest [sha256.Size]byte
	Lock   uint64 // the hash of its stripe
}

// Constrain checks a ClientRequestToken, which may be nil, against the API model.
func Constrain(c *model.Constraints, text *string) {
	if text != nil {
		c.Length(len(*text), *text, "clientRequestToken", 1, maxToken)
	}
}

// New returns the ClientRequestToken of a request, nil if it has none. digest identifies the content
// of the request, whose values must have been checked: only values that can be stored have a digest.
func New(text *string, digest func() [sha256.Size]byte) *Token {
	if text == nil {
		return nil
	}

	return &Token{text: *text, digest: digest(), Lock: keyspace.Hash([]byte(*text))}
}

func spanPrefix(n uint64) []byte {
	return binary.BigEndian.AppendUint64(keyspace.StoreKey(keyspace.KindToken), n)
}

func (t *Token) key(span uint64) []byte { return append(spanPrefix(span), t.text...) }

// Used reports whether the token was used within its life, and whether by the same request. The caller
// holds the token's stripe.
func (t *Token) Used(db *store.DB, now time.Time) (used, same bool, err error) {
	for _, n := range []uint64{span(now), span(now) - 1} {
		raw, ok, err := db.Get(t.key(n))
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

// Stage adds the token to the batch of its transaction.
func (t *Token) Stage(b *store.Batch, now time.Time) {
	expires := uint64(now.Add(tokenLife).UnixMilli())
	b.Set(t.key(span(now)), append(binary.BigEndian.AppendUint64(nil, expires), t.digest[:]...))
}

// Cleaner deletes tokens that have ended. The zero value is ready. It is not for several callers at once.
type Cleaner struct {
	deletedTo uint64 // the newest span of tokens that was deleted
}

// DeleteOld deletes the spans in which used no longer looks.
func (c *Cleaner) DeleteOld(db *store.DB, now time.Time) error {
	current := span(now)

	// used looks in the current span and the one before.
	if current-2 <= c.deletedTo {
		return nil
	}
	b := db.NewBatch()
	b.DeleteRange(keyspace.StoreKey(keyspace.KindToken), spanPrefix(current-1))

	if err := b.Commit(); err != nil {
		return err
	}
	c.deletedTo = current - 2

	return nil
}
