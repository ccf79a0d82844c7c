package main

import (
	"strings"
	"testing"
)

func TestAPeerIsAwaitedAndKilled(t *testing.T) {
	t.Chdir(t.TempDir())

	shell := peer{name: "shell", command: []string{"sh", "-c"}}

	p, err := shell.start(t.Context(), `echo '{"event":"first"}'; echo '{"event":"last","seconds":1.5}'; exec cat /dev/zero >/dev/null`)
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()

	if last, err := p.await(t.Context(), "last"); err != nil || last.Seconds != 1.5 {
		t.Errorf("%+v, %v", last, err)
	}
	p.kill()

	if _, err := p.await(t.Context(), "first"); err == nil || !strings.Contains(err.Error(), ".cache") {
		t.Errorf("%v, want the end of the worker and its log", err)
	}
}
