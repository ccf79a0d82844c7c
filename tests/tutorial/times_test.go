package tutorial

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var cold = flag.Bool("cold", false, "begin with an empty build cache, as after the installation of Go; packages of others are not downloaded again")

// settings are the variables that the page's shell has in addition to the test's environment.
func settings(t *testing.T, admin string) []string {
	t.Helper()

	all := []string{
		"CGO_ENABLED=0",
		"RATCHET_LISTEN=127.0.0.1:0",
		"RATCHET_API_LISTEN=127.0.0.1:0",
		"RATCHET_ADMIN_LISTEN=" + admin,
	}
	if *cold {
		return append(all, "GOFLAGS=-trimpath", "GOCACHE="+t.TempDir())
	}

	// Programs without symbols link in half the time, and what is vetted is not what this test is about.
	return append(all, "GOFLAGS=-trimpath -vet=off '-ldflags=-s -w'")
}

// times are how long the commands of each part of the page take, without the reader.
type times struct {
	text  []string // the lines of the page
	parts []part
}

type part struct {
	heading string
	took    time.Duration
}

// add counts a command of the page for the part that it is in.
func (all *times) add(c command, took time.Duration) {
	heading := ""
	for _, line := range all.text[:c.at] {
		if title, is := strings.CutPrefix(line, "## "); is {
			heading = title
		}
	}

	if n := len(all.parts); n == 0 || all.parts[n-1].heading != heading {
		all.parts = append(all.parts, part{heading: heading})
	}
	all.parts[len(all.parts)-1].took += took
}

// log prints the times, with -v.
func (all *times) log(t *testing.T) {
	t.Helper()

	sum := time.Duration(0)
	for _, p := range all.parts {
		sum += p.took
		t.Logf("%-40s %6.1f s", p.heading, p.took.Seconds())
	}
	t.Logf("%-40s %6.1f s, with an empty build cache: %t", "all commands", sum.Seconds(), *cold)
}

// TestEachCommandCountsForItsPart: the times of one part of the page are not counted for another part.
func TestEachCommandCountsForItsPart(t *testing.T) {
	t.Parallel()

	all := times{text: []string{"# Page", "## One", "$ a", "$ b", "## Two", "$ c"}}
	for _, at := range []int{3, 4, 6} {
		all.add(command{at: at}, time.Second)
	}

	if len(all.parts) != 2 || all.parts[0] != (part{"One", 2 * time.Second}) || all.parts[1] != (part{"Two", time.Second}) {
		t.Errorf("%+v", all.parts)
	}
}

// TestTheProgressOfASlowCommandIsNotCompared: on a busy machine a command prints it.
func TestTheProgressOfASlowCommandIsNotCompared(t *testing.T) {
	c := command{output: []string{"ready (table, tasks, …)"}}

	for output, want := range map[string]bool{
		"ready (table, tasks, stream)\n":                                             true,
		"waiting until the process is ready (2s)\nready (table, tasks, stream)\n":    true,
		"0.5 MB copied (1m2s)\nready (table, tasks, stream)\n":                       true,
		"waiting until the process is ready\nready (table, tasks, stream)\n":         false,
		"waiting until the process is ready (2s) in vain\nready (table, tasks, x)\n": false,
	} {
		if got := c.pattern().MatchString(plain(output)); got != want {
			t.Errorf("%q: %t", output, got)
		}
	}
}
