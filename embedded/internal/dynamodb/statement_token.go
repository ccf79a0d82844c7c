package dynamodb

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
func (in *statementIn) digest() [sha256.Size]byte {
	return sha256.Sum256(in.appendTo(nil))
}

// appendTo appends the statement and its parameters for a digest.
func (in *statementIn) appendTo(dst []byte) []byte {
	dst = append(append(dst, *in.Statement...), 0)
	return attr.AppendBinary(dst, attr.Item{"parameters": attr.NewList(in.Parameters)})
}

func (in *statementIn) nextToken(last attr.Item) string {
	of := in.digest()

	raw, err := json.Marshal(statementToken{Of: of[:8], Key: last.AppendJSON(nil)})
	if err != nil {
		panic(err) // bytes and JSON
	}

	return base64.StdEncoding.EncodeToString(raw)
}

// resume returns the ranges that are left after the page before the token.
func (p *plan) resume(v *view, in *statementIn, text string) ([]keyRange, error) {
	refused := invalid("NextToken does not match request")

	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, refused
	}

	var token struct {
		Of  []byte
		Key attr.Item
	}
	if err := wire.Decode(raw, &token); err != nil {
		return nil, refused
	}

	// A token continues only its own statement with its own parameters.
	if of := in.digest(); !bytes.Equal(token.Of, of[:8]) {
		return nil, refused
	}

	// The key comes from the caller: it may lack attributes of the index, or have them with other types.
	if err := v.checkScanStart(token.Key); err != nil {
		return nil, refused
	}

	at, err := v.startKey(token.Key)
	if err != nil {
		return nil, refused
	}

	// The page before ended in one of the ranges; all earlier ranges are done.
	for i, r := range p.ranges {
		if bytes.Compare(at, r.lo) < 0 || bytes.Compare(at, r.hi) >= 0 {
			continue
		}

		if p.reverse {
			r.hi = at
		} else {
			r.lo = append(at, 0)
		}

		return append([]keyRange{r}, p.ranges[i+1:]...), nil
	}

	return nil, refused
}
