package tokens

import (
	"testing"
	"time"
)

func TestASpanIsAsLongAsATokenLives(t *testing.T) {
	for ms := range int64(3) {
		at := time.UnixMilli(1_800_000_000_000 - 1 + ms)
		if got, want := span(at.Add(tokenLife)), span(at)+1; got != want {
			t.Errorf("span %d a life after span %d, want %d", got, span(at), want)
		}
	}
}
