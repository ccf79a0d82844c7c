package statements

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/wire"
)

// statementToken is a NextToken: where the next page of a statement begins.
type statementToken struct {
	// Of identifies the statement and its parameters.
	Of []byte
	// Key is the key of the last item of the page before.
	Key json.RawMessage
}

// digest identifies the statement with its parameters.
func (in *Request) digest() [sha256.Size]byte {
	return sha256.Sum256(in.AppendTo(nil))
}

// AppendTo appends the statement and its parameters for a digest.
func (in *Request) AppendTo(dst []byte) []byte {
	dst = append(append(dst, *in.Statement...), 0)
	return attr.AppendBinary(dst, attr.Item{"parameters": attr.NewList(in.Parameters)})
}

// TokenAfter returns the NextToken of a page that ends with the item of that key.
func (in *Request) TokenAfter(last attr.Item) string {
	of := in.digest()

	raw, err := json.Marshal(statementToken{Of: of[:8], Key: last.AppendJSON(nil)})
	if err != nil {
		panic(err) // bytes and JSON
	}

	return base64.StdEncoding.EncodeToString(raw)
}

// RefusedToken is the answer to a NextToken that the statement has not got from a page before.
func RefusedToken() error { return wire.Invalid("NextToken does not match request") }

// ReadToken returns the key of the last item of the page before.
func (in *Request) ReadToken(text string) (attr.Item, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, RefusedToken()
	}

	var token struct {
		Of  []byte
		Key attr.Item
	}
	if err := wire.Decode(raw, &token); err != nil {
		return nil, RefusedToken()
	}

	// A token continues only its own statement with its own parameters.
	if of := in.digest(); !bytes.Equal(token.Of, of[:8]) {
		return nil, RefusedToken()
	}

	return token.Key, nil
}
