package stepfunctions

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"ratchet/embedded/internal/wire"
)

type listRequest struct {
	MaxResults int
	NextToken  string
}

// pageOf sorts all by name and returns one page, and the token of the next one. A token
// holds the id of the first item of its page.
func pageOf[T any](
	all []T, in *listRequest, kind byte, of func(T) (name string, id uint64),
) (page []T, next *string, err error) {
	size, err := pageSize(in.MaxResults)
	if err != nil {
		return nil, nil, err
	}

	slices.SortFunc(all, func(a, b T) int {
		x, _ := of(a)
		y, _ := of(b)

		return strings.Compare(x, y)
	})

	if in.NextToken != "" {
		at, err := readPageToken(in.NextToken, kind, 0)
		if err != nil {
			return nil, nil, err
		}

		from := slices.IndexFunc(all, func(item T) bool { _, id := of(item); return id == at })
		if from < 0 {
			return nil, nil, wire.Errorf("InvalidToken", "Invalid Token: 'the list has changed; start again'")
		}

		all = all[from:]
	}

	if len(all) > size {
		_, id := of(all[size])
		all, next = all[:size], pageToken(kind, 0, id)
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
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{kind}, scope), at)
	text := base64.RawURLEncoding.EncodeToString(b)

	return &text
}

// The longest tokens of a page, that of ListExecutions apart.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html
const (
	maxPageToken       = 1024
	maxExecutionsToken = 3096
)

// readPageToken reads what pageToken wrote.
func readPageToken(token string, kind byte, scope uint64) (uint64, error) {
	longest := maxPageToken
	if kind == keyRunning {
		longest = maxExecutionsToken
	}

	if len(token) > longest {
		return 0, validation("1 validation error detected: Value '%s' at 'nextToken' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d", token, longest)
	}

	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != 17 || b[0] != kind || binary.BigEndian.Uint64(b[1:]) != scope {
		return 0, wire.Errorf("InvalidToken", "Invalid Token: 'Invalid token'")
	}

	return binary.BigEndian.Uint64(b[9:]), nil
}
