package stepfunctions

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/wire"
)

type listRequest struct {
	MaxResults int
	NextToken  string
}

// pageOf sorts all by a key and returns one page, and the token of the next one. A token holds the key of
// the last item of its page. That item may be gone when the token comes back.
func pageOf[T any](all []T, in *listRequest, kind byte, key func(T) string) (page []T, next *string, err error) {
	size, err := pageSize(in.MaxResults)
	if err != nil {
		return nil, nil, err
	}

	slices.SortFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })

	if in.NextToken != "" {
		last, err := readPagePlace(in.NextToken, kind)
		if err != nil {
			return nil, nil, err
		}

		// Compared by key, so that the page goes on correctly even if the token's item was deleted.
		all = slices.DeleteFunc(all, func(item T) bool { return key(item) <= string(last) })
	}

	if len(all) > size {
		all, next = all[:size], newPageToken(kind, []byte(key(all[size-1])))
	}

	return all, next, nil
}

// pageSize checks maxResults; 0 means the default.
func pageSize(n int) (int, error) {
	const standard, most = 100, 1000

	switch {
	case n == 0:
		return standard, nil
	case n < 0:
		return 0, validation("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: "+
			"Member must have value greater than or equal to 0", n)
	case n > most:
		return 0, validation("1 validation error detected: Value '%d' at 'maxResults' failed to satisfy constraint: "+
			"Member must have value less than or equal to %d", n, most)
	}

	return n, nil
}

// pageToken encodes the start of the next page. kind and scope identify the list, so that a
// token of another list is refused.
func pageToken(kind byte, scope, at uint64) *string {
	return newPageToken(kind, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, scope), at))
}

// readPageToken reads what pageToken wrote.
func readPageToken(token string, kind byte, scope uint64) (uint64, error) {
	place, err := readPagePlace(token, kind)
	if err != nil {
		return 0, err
	}

	if len(place) != 16 || binary.BigEndian.Uint64(place) != scope {
		return 0, errPageToken
	}

	return binary.BigEndian.Uint64(place[8:]), nil
}

func newPageToken(kind byte, place []byte) *string {
	text := base64.RawURLEncoding.EncodeToString(append([]byte{kind}, place...))
	return &text
}

// The longest token of a page: of ListExecutions, and of all other lists.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html
const (
	maxPageToken       = 1024
	maxExecutionsToken = 3096
)

var errPageToken = wire.Errorf("InvalidToken", "Invalid Token: 'Invalid token'")

// readPagePlace reads what newPageToken wrote.
func readPagePlace(token string, kind byte) (place []byte, err error) {
	longest := maxPageToken
	// Running is the kind of the tokens of ListExecutions.
	if kind == keys.Running {
		longest = maxExecutionsToken
	}

	if len(token) > longest {
		return nil, validation("1 validation error detected: Value '%s' at 'nextToken' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", token, longest)
	}

	// Strict: one token has one text only.
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 2 || b[0] != kind {
		return nil, errPageToken
	}

	return b[1:], nil
}
