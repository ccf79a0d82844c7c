//go:build conformance

package conformance

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	callsFlag  = flag.Int64("calls", 30000, "generated calls to each side, at least")
	resumeFlag = flag.String("resume", "", "file that keeps the next seed and the calls so far, for a run in several parts")
)

// generator makes requests of one kind and compares their answers. It has tables of its own on
// both sides, so that generators run beside each other.
type generator struct {
	name    string
	prepare func(testing.TB, *sides)
	check   func(*rapid.T, *sides)
}

var generators = []generator{
	{"conditions", withGeneratedItem, checkConditions},
	{"updates", withGeneratedTable("id:S"), checkUpdates},
	{"projections", withGeneratedItem, checkProjections},
	{"numbers", withGeneratedTable("h:S,r:N"), checkNumbers},
	{"indexes", withIndexedTable, checkIndexes},
	{"legacyconditions", withLegacyItems, checkLegacyConditions},
	{"legacyupdates", withGeneratedTable("id:S"), checkLegacyUpdates},
	{"selects", withGeneratedItem, checkSelects},
	{"statementupdates", withGeneratedTable("id:S"), checkStatementUpdates},
	{"invalid", withGeneratedTable("h:S,r:N"), checkInvalid},
	{"invalidreads", withInvalidTable, checkInvalidReads},
	{"invalidtables", withUpdatedTable, checkInvalidTables},
	{"statementkeys", withStatementKeys, checkStatementKeys},
}

// progress is kept between the parts of a run.
type progress struct {
	Seed  uint64
	Calls int64
}

// TestGenerated runs rounds of all generators until enough calls are made. Every round has a seed
// of its own, from -rapid.seed on, so a round can be run again alone:
//
//	go test -tags conformance ./tests/conformance -run TestGenerated -calls 1 -rapid.seed 57
//
// rapid gives the k-th check of a round the seed of the round plus 1+2+...+k. The rounds are so far
// apart that no two of them make the same check.
func TestGenerated(t *testing.T) {
	at := firstRound(t)

	checks, err := strconv.ParseUint(flagValue("rapid.checks"), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	apart := checks*(checks+1)/2 + 1

	for at.Calls < *callsFlag {
		if err := flag.Set("rapid.seed", strconv.FormatUint(at.Seed, 10)); err != nil {
			t.Fatal(err)
		}

		before := callsMade.Load()
		t.Run(fmt.Sprintf("seed %d", at.Seed), func(t *testing.T) {
			for _, g := range generators {
				t.Run(g.name, func(t *testing.T) {
					t.Parallel()
					g.run(t)
				})
			}
		})

		at.Seed, at.Calls = at.Seed+apart, at.Calls+callsMade.Load()-before
		at.store(t)
	}
	t.Logf("%d generated calls to each side, the next seed is %d", at.Calls, at.Seed)
}

func (g generator) run(t *testing.T) {
	s := newSides(t, g.name)
	g.prepare(t, s)
	rapid.Check(t, func(rt *rapid.T) { g.check(rt, s) })
}

// firstRound returns where the run starts: as the file of -resume says, at -rapid.seed, or at a
// seed of this moment.
func firstRound(t *testing.T) (at progress) {
	t.Helper()

	seed, err := strconv.ParseUint(flagValue("rapid.seed"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}

	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	at.Seed = seed

	if *resumeFlag == "" {
		return at
	}

	raw, err := os.ReadFile(*resumeFlag)
	if errors.Is(err, fs.ErrNotExist) {
		return at
	}

	if err == nil {
		err = json.Unmarshal(raw, &at)
	}

	if err != nil {
		t.Fatalf("read the file of -resume: %v", err)
	}

	return at
}

// store keeps the progress in the file of -resume.
func (p progress) store(t *testing.T) {
	t.Helper()

	if *resumeFlag == "" {
		return
	}

	raw, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(*resumeFlag, raw, 0o600)
	}

	if err != nil {
		t.Fatalf("write the file of -resume: %v", err)
	}
}
