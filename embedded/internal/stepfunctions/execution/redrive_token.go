package execution

import (
	"encoding/binary"
	"slices"
	"time"
)

// How many client tokens of redrives an execution remembers, and for how long.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html
const (
	maxRedriveTokens = 10
	redriveTokenLife = 15 * time.Minute
)

// redriveToken is the client token of a request that has redriven
// the execution, and the time of the redrive.
type redriveToken struct {
	text string
	at   int64
}

// RedrivenBy returns when the request with a client token has redriven the execution, 0 if none has.
func (s *State) RedrivenBy(token string, now time.Time) int64 {
	// RememberRedrive stores no empty token, so a request without a token never matches.
	for _, t := range s.redriveTokens {
		if t.text == token && now.UnixMilli()-t.at < redriveTokenLife.Milliseconds() {
			return t.at
		}
	}

	return 0
}

// RememberRedrive remembers the client token of the newest redrive; "" is none.
func (s *State) RememberRedrive(token string) {
	if token == "" {
		return
	}

	// The tokens stay in the order of their redrives, so the oldest is dropped first.
	s.redriveTokens = append(s.redriveTokens, redriveToken{token, s.Redriven})
	s.redriveTokens = slices.DeleteFunc(s.redriveTokens, func(t redriveToken) bool {
		return s.Redriven-t.at >= redriveTokenLife.Milliseconds()
	})

	if n := len(s.redriveTokens) - maxRedriveTokens; n > 0 {
		s.redriveTokens = s.redriveTokens[n:]
	}
}

func appendRedriveTokens(b []byte, tokens []redriveToken) []byte {
	b = binary.AppendUvarint(b, uint64(len(tokens)))
	for _, t := range tokens {
		b = binary.AppendVarint(appendText(b, t.text), t.at)
	}

	return b
}

func readRedriveTokens(r *reader) (tokens []redriveToken) {
	for range r.count() {
		tokens = append(tokens, redriveToken{r.text(), r.int()})
	}

	return tokens
}
