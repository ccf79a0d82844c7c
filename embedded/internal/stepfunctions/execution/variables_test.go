package execution

import (
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
		x := newMemoryExecution(t, row.definition)
		if err := x.start(`"` + strings.Repeat("x", row.size-2) + `"`); err != nil {
			t.Fatal(err)
		}

		for x.state().Status == Running { // turns of several megabytes
			if err := x.sleep(time.Second); err != nil {
				t.Fatal(err)
			}
		}

		s := x.state()
		if s.Status != row.want || row.want == Failed && s.Error != dataLimitError {
			t.Errorf("%s: %s %s %s", row.is, s.Status, s.Error, s.Cause)
		}
	}
}

// A stored state of another version is refused, and nothing of it is read.
func TestAStateOfAnotherVersionIsRefused(t *testing.T) {
	x := newMemoryExecution(t, `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":5,"End":true}}}`)
	if err := x.start(`{}`); err != nil {
		t.Fatal(err)
	}

	for _, version := range []byte{0, stateVersion + 1} {
		other := slices.Clone(x.stored)
		other[0] = version

		if s, err := ReadState(other); !errors.Is(err, errCorrupt) || s != nil {
			t.Errorf("version %d: %v %v", version, s, err)
		}
	}
}

// A thread that watches an execution has a token, which its stored state keeps.
func TestReadTokensOfWatchingThreads(t *testing.T) {
	watcher := &thread{id: 1, phase: watching, token: [TokenSize]byte([]byte("0123456789abcdef"))}
	stored := AppendState(nil, &State{threads: []*thread{watcher}})

	s, err := ReadState(stored)
	if err != nil || len(s.threads) != 1 || s.threads[0].token != watcher.token {
		t.Fatal(s, err)
	}

	s.Status = Running

	env := newMemoryExecution(t, `{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`).env()
	if _, err := env.Heartbeat(s, 1, watcher.token); err != nil {
		t.Errorf("the token of the thread: %v", err)
	}
}
