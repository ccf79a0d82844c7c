package pages

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// Request are the members of every request for a list.
type Request struct {
	MaxResults int
	NextToken  string
}

// Of sorts all by a key and returns one page, and the token of the next one. A token holds the key of
// the last item of its page. That item may be gone when the token comes back.
func Of[T any](all []T, in *Request, kind byte, key func(T) string) (page []T, next *string, err error) {
	size, err := Size(in.MaxResults)
	if err != nil {
		return nil, nil, err
	}

	slices.SortFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })

	if in.NextToken != "" {
		last, err := readPlace(in.NextToken, kind)
		if err != nil {
			return nil, nil, err
		}

		// Compared by key, so that the page goes on correctly even if the token's item was deleted.
		all = slices.DeleteFunc(all, func(item T) bool { return key(item) <= string(last) })
	}

	if len(all) > size {
		all, next = all[:size], newToken(kind, []byte(key(all[size-1])))
	}

	return all, next, nil
}

// Size checks maxResults; 0 means the default.
func Size(n int) (int, error) {
	const standard, most = 100, 1000

	switch {
	case n == 0:
		return standard, nil
	case n < 0:
		return 0, requests.Invalid("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: "+
			"Member must have value greater than or equal to 0", n)
	case n > most:
		return 0, requests.Invalid("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: "+
			"Member must have value less than or equal to %d", n, most)
	}

	return n, nil
}

// Token encodes the start of the next page. kind and scope identify the list, so that a
// token of another list is refused.
func Token(kind byte, scope, at uint64) *string {
	return newToken(kind, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, scope), at))
}

// Read reads what Token wrote.
func Read(token string, kind byte, scope uint64) (uint64, error) {
	place, err := readPlace(token, kind)
	if err != nil {
		return 0, err
	}

	if len(place) != 16 || binary.BigEndian.Uint64(place) != scope {
		return 0, errToken
	}

	return binary.BigEndian.Uint64(place[8:]), nil
}

func newToken(kind byte, place []byte) *string {
	text := base64.RawURLEncoding.EncodeToString(append([]byte{kind}, place...))
	return &text
}

// The longest token of a page: of ListExecutions, and of all other lists.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html
const (
	maxToken        = 1024
	maxOfExecutions = 3096
)

var errToken = wire.Errorf("InvalidToken", "Invalid Token: 'Invalid token'")

// readPlace reads what newToken wrote.
func readPlace(token string, kind byte) (place []byte, err error) {
	longest := maxToken
	// Running is the kind of the tokens of ListExecutions.
	if kind == keys.Running {
		longest = maxOfExecutions
	}

	if len(token) > longest {
		return nil, requests.Invalid("1 validation error detected: Value '%s' at 'nextToken' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", token, longest)
	}

	// Strict: one token has one text only.
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2 || b[0] != kind {
		return nil, errToken
	}

	return b[1:], nil
}
