package main

import (
	"os"
	"testing"
)

// TestAProgramHasTheBytesOfItsModules: the test's own program is one with symbols.
func TestAProgramHasTheBytesOfItsModules(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	all, err := sizes(self)
	if err != nil {
		t.Skipf("this test's program has no symbols: %v", err)
	}

	if all["standard library"] < 100_000 || all["names and line tables"] < 100_000 {
		t.Errorf("%v", all)
	}
}

func TestASymbolIsOfTheLongestModule(t *testing.T) {
	modules := []string{"example.org/a/b/v2", "example.org/a/b", "ratchet"}

	for symbol, want := range map[string]string{
		"example.org/a/b.F": "example.org/a/b", "example.org/a/b/v2/c.F": "example.org/a/b/v2", "go:itab.*ratchet/server.B,io.Reader": "ratchet",
		"runtime.main": "standard library", "ratchetother.F": "standard library", "type:.eq.example%2eorg/a/b.T": "example.org/a/b",
	} {
		if got := moduleOf(symbol, modules); got != want {
			t.Errorf("%s is of %s, want %s", symbol, got, want)
		}
	}
}
