package execution

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// One Assign sets at most 256 KiB, and an execution has at most 10 MiB in variables. A
// value that replaces another counts once.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
func TestLimitsOfVariables(t *testing.T) {
	const half = MaxDocument / 2

	steps := func(n int, name func(i int) string) string {
		var states strings.Builder
		for i := range n {
			fmt.Fprintf(&states, `"S%d":{"Type":"Pass","Assign":{"%s.$":"$"},"Next":"S%d"},`, i, name(i), i+1)
		}

		return fmt.Sprintf(`{"StartAt":"S0","States":{%s"S%d":{"Type":"Succeed"}}}`, states.String(), n)
	}
	own := func(i int) string { return fmt.Sprintf("v%d", i) }
	same := func(int) string { return "v" }

	var branches strings.Builder
	for i := range 81 {
		fmt.Fprintf(&branches, `%s{"StartAt":"A%d","States":{"A%d":{"Type":"Pass","Assign":{"v.$":"$"},"Next":"B%d"},`+
			`"B%d":{"Type":"Wait","Seconds":1,"Next":"C%d"},"C%d":{"Type":"Pass","Result":1,"End":true}}}`, ","[:min(i, 1)], i, i, i, i, i, i)
	}

	for _, row := range []struct {
		is         string
		definition string
		size       int // of each value, with its quotes
		want       Status
	}{
		{"an Assign at the limit", steps(1, same), MaxDocument - len(`{"v":}`), Succeeded},
		{"an Assign above the limit", steps(1, same), MaxDocument - len(`{"v":}`) + 1, Failed},
		{"less than 10 MiB", steps(79, own), half, Succeeded},
		{"more than 10 MiB", steps(81, own), half, Failed},
		{
			"one name in many branches", `{"StartAt":"P","States":{"P":{"Type":"Parallel","End":true,"Branches":[` + branches.String() + `]}}}`,
			half, Failed,
		},
		{"one variable, assigned often", steps(90, same), half, Succeeded},
	} {
		w := newWorld(t, row.definition)
		if err := w.start(`"` + strings.Repeat("x", row.size-2) + `"`); err != nil {
			t.Fatal(err)
		}

		for w.state().Status == Running { // turns of several megabytes
			if err := w.sleep(time.Second); err != nil {
				t.Fatal(err)
			}
		}

		s := w.state()
		if s.Status != row.want || row.want == Failed && s.Error != dataLimitError {
			t.Errorf("%s: %s %s %s", row.is, s.Status, s.Error, s.Cause)
		}
	}
}

// States of version 1, which have neither variables nor a machine version, of version 2, which have
// no Map Runs, and of later ones without client tokens of redrives can be read.
func TestReadStatesOfEarlierVersions(t *testing.T) {
	w := newWorld(t, `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":5,"End":true}}}`)
	if err := w.start(`{}`); err != nil {
		t.Fatal(err)
	}

	header := w.state()
	header.threads = nil
	// The header ends with Version, Alias and the Map Run, and the one thread with the number of
	// its variables and the Map Run. Each has a byte, and one byte counts the threads. The last byte
	// counts the client tokens.
	head := w.stored[1 : len(AppendState(nil, header))-5]
	threads := w.stored[len(head)+4 : len(w.stored)-3]

	for version, old := range [][]byte{
		1: slices.Concat([]byte{1}, head, threads),
		2: slices.Concat([]byte{2}, head, []byte{0, 0}, threads, []byte{0}),
		3: slices.Concat([]byte{3}, head, []byte{0, 0, 0}, threads, []byte{0, 0}),
		4: slices.Concat([]byte{4}, head, []byte{0, 0, 0}, threads, []byte{0, 0}),
	} {
		if version == 0 {
			continue
		}

		s, err := ReadState(old)
		if err != nil || len(s.threads) != 1 || s.threads[0].phase != waiting || s.Child != nil || s.threads[0].run != 0 {
			t.Errorf("version %d: %v %v", version, s, err)
		}
	}

	if !bytes.Equal(slices.Concat([]byte{5}, head, []byte{0, 0, 0}, threads, []byte{0, 0, 0}), w.stored) {
		t.Error("the parts are not those of a state")
	}
}

// A thread that watches an execution has a token, which states of version 3 do not store.
func TestReadTokensOfWatchingThreads(t *testing.T) {
	watcher := &thread{id: 1, phase: watching, token: [TokenSize]byte([]byte("0123456789abcdef"))}
	stored := AppendState(nil, &State{threads: []*thread{watcher}})

	s, err := ReadState(stored)
	if err != nil || len(s.threads) != 1 || s.threads[0].token != watcher.token {
		t.Fatal(s, err)
	}

	s.Status = Running

	env := newWorld(t, `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`).env()
	if _, err := env.Heartbeat(s, 1, watcher.token); err != nil {
		t.Errorf("the token of the thread: %v", err)
	}

	old := bytes.Replace(stored, watcher.token[:], nil, 1)
	old[0] = 3

	s, err = ReadState(old)
	if err != nil || len(s.threads) != 1 || s.threads[0].phase != watching || s.threads[0].token != [TokenSize]byte{} {
		t.Fatal(s, err)
	}

	// No worker has the token of the old thread, and no token answers its task.
	s.Status = Running
	if _, err := env.Heartbeat(s, 1, [TokenSize]byte{}); !errors.Is(err, ErrTaskTimedOut) {
		t.Errorf("a token of zeros: %v", err)
	}
}
