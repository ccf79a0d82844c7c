package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `package sample

func TestAlone(t *testing.T) { helper(); sort.Slice(nil, nil) }

func TestByItself(t *testing.T) { go helper() }

func TestByAHelper(t *testing.T) { s := newServer(); s.crowd() }

func TestByAValue(t *testing.T) { synctest.Test(t, bubble) }

func bubble(t *testing.T) { time.AfterFunc(0, helper) }

// TestInside calls what starts goroutines.
//
//raced:here
func TestInside(t *testing.T) { code.Call() }

func TestWithAServer(t *testing.T) { newServer() }

func TestTheServer(t *testing.T) { newServer() }

//raced:in TestTheServer
func newServer() *server { go helper(); return nil }

func (s *server) crowd() { s.group.Go(helper) }

func helper() {}

func ExampleAlone() {}
`

func TestOnlyTestsWithGoroutinesAreRaced(t *testing.T) {
	for _, c := range []struct{ source, oneCaller, want, fault string }{
		{sample, "sample", "^(TestByAHelper|TestByAValue|TestByItself|TestInside|TestTheServer)$", ""},
		{sample, "", "^(ExampleAlone|TestAlone|TestByAHelper|TestByAValue|TestByItself|TestInside|TestTheServer|TestWithAServer)$", ""},
		{strings.ReplaceAll(sample, "//raced:in TestTheServer", "//raced:in TestOfAnother"), "sample", "", "TestOfAnother, which is no test"},
		{"package sample\n\nfunc TestAlone(t *testing.T) {}\n", "sample", "", "none of the tests starts a goroutine"},
		{"package", "sample", "", "expected"},
	} {
		dir := filepath.Join(t.TempDir(), "sample")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sample_test.go"), []byte(c.source), 0o600); err != nil {
			t.Fatal(err)
		}

		oneCaller := []string{}
		if c.oneCaller != "" {
			oneCaller = append(oneCaller, dir)
		}

		got, err := pattern([]string{dir}, oneCaller)
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) || got != c.want {
			t.Errorf("%q: %v, expected %q %q", got, err, c.want, c.fault)
		}
	}
}
