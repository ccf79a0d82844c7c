// Command mutants plants faults in a package, one at a time, and runs the package's tests
// against each. A mutant that no test notices has survived: either a test is missing, or
// the mutant makes no difference.
//
//	go run ./internal/tools/mutants [-json] [-fresh] [-match REGEXP] [-every N [-seed S]] [-run REGEXP] [-timeout D] ./once/ledger
//
// Planted are: comparisons and their bounds, AND and OR, negated conditions, dropped calls
// and links of a builder of updates, errors that are not returned, true for false,
// arithmetic, and the parts of DynamoDB conditions in string literals.
//
// The mutants are in an overlay (`go test -overlay`), so the tree is not touched. Most of them are
// in one program, and an environment variable chooses one; the others have a program each. A mutant
// is run against the tests that execute its line when they run alone, the quickest first, with
// -short and -failfast. Mutants run one after the other. The results are kept in .cache/mutants: an
// interrupted run goes on where it stopped. Later runs repeat only the survivors, and mutants of
// files that have changed.
//
// With -run, only the tests whose names match run: it shows in little time whether new tests notice
// the survivors of an earlier run. A mutant that survives these tests alone is not recorded as a
// survivor.
//
// With -every N, one of N mutants is tried. The seed chooses which: the same seed and the
// same code give the same mutants.
//
// The file internal/tools/mutants/explained.txt names survivors that make no difference, with the
// reason. The command fails if others survive.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"
)

func main() {
	var o options
	flag.BoolVar(&o.json, "json", false, "print a JSON document")
	flag.BoolVar(&o.fresh, "fresh", false, "forget the results of earlier runs")
	flag.StringVar(&o.match, "match", "", "run only mutants whose name matches the `regexp`, such as reserve.go")
	flag.Uint64Var(&o.every, "every", 1, "try one of `N` mutants")
	flag.StringVar(&o.run, "run", "", "run only the tests whose names match the `regexp`")
	flag.Uint64Var(&o.seed, "seed", 1, "`seed` that chooses the mutants of -every")
	flag.DurationVar(&o.timeout, "timeout", 0, "limit of one run of tests (default: 5 times their run without a mutant, and 5s)")
	flag.StringVar(&o.cache, "cache", ".cache/mutants", "the `directory` of the results")
	flag.StringVar(&o.explained, "explained", "internal/tools/mutants/explained.txt", "the `file` of survivors that make no difference")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, flag.Args(), os.Stdout, os.Stderr)
	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	json, fresh             bool
	match, cache, explained string
	run                     string
	every, seed             uint64
	timeout                 time.Duration
}

// chooses reports whether the mutant is one of the sample.
func (o options) chooses(m mutant) bool {
	h := fnv.New64a()
	fmt.Fprint(h, o.seed, m.Name)

	// By the name, not the place in the list: the sample stays the same when other code changes.
	return h.Sum64()%max(o.every, 1) == 0
}

// errSurvivors ends a run that found survivors without an explanation.
var errSurvivors = errors.New("mutants survived")

// run plants the mutants of each package and prints the reports.
func run(ctx context.Context, o options, packages []string, out, progress io.Writer) error {
	if len(packages) == 0 {
		return errors.New("name a package, such as ./once/ledger")
	}

	match, err := regexp.Compile(o.match)
	if err != nil {
		return err
	}

	explained, err := readExplained(o.explained)
	if err != nil {
		return err
	}

	var reports []report
	var failed error
	for _, p := range packages {
		r, err := examine(ctx, o, match, p, progress)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p, err))
		}

		// The report counts also after an error: an interrupted run has found survivors, too.
		if r.count(survived, explained) > 0 {
			failed = errors.Join(failed, fmt.Errorf("%s: %d %w", p, r.count(survived, explained), errSurvivors))
		}
		reports = append(reports, r)
	}

	if err := printReports(out, o.json, reports, explained); err != nil {
		return err
	}

	return failed
}

// examine plants the mutants of one package and runs its tests against each. The report is valid
// for the mutants that were tried, also when examine ends with an error.
func examine(ctx context.Context, o options, match *regexp.Regexp, path string, progress io.Writer) (report, error) {
	r := report{Package: path}

	p, err := load(ctx, path)
	if err != nil {
		return r, err
	}
	r.Package = p.Path

	results, err := openResults(o, p)
	if err != nil {
		return r, err
	}
	defer results.Close()

	var wanted []mutant
	for _, m := range p.mutants {
		if !match.MatchString(m.Name) || !o.chooses(m) {
			continue
		}

		outcome, known := results.of(m)
		if !known {
			wanted = append(wanted, m)
		}
		r.Mutants = append(r.Mutants, result{mutant: m, Outcome: outcome})
	}

	if o.every > 1 {
		fmt.Fprintf(progress, "%s: %d of %d mutants, one of %d by seed %d\n", p.Path, len(r.Mutants), len(p.mutants), o.every, o.seed)
	}

	tried, err := tryAll(ctx, o, p, wanted, results, progress)
	for i := range r.Mutants {
		m := &r.Mutants[i]
		m.Outcome = cmp.Or(m.Outcome, tried[m.Name])
	}

	// After an interruption, only mutants that were tried count.
	r.Mutants = slices.DeleteFunc(r.Mutants, func(m result) bool { return m.Outcome == "" })

	return r, err
}

// tryAll tries the mutants and stores each outcome. It returns the outcomes by name, also
// those before an error.
func tryAll(ctx context.Context, o options, p *pkg, wanted []mutant, results *results, progress io.Writer) (map[string]outcome, error) {
	tried := map[string]outcome{}
	if len(wanted) == 0 {
		return tried, nil
	}

	tests, err := regexp.Compile(o.run)
	if err != nil {
		return tried, err
	}

	l, err := newLab(ctx, p, tests, o.timeout, wanted)
	if err != nil {
		return tried, err
	}
	defer l.close()

	for _, m := range wanted {
		outcome, err := l.try(ctx, m)
		if err != nil {
			return tried, err
		}

		// With -run, a survivor has met only some tests: the next full run must try it again.
		if outcome != survived || o.run == "" {
			if err := results.add(m, outcome); err != nil {
				return tried, err
			}
		}
		tried[m.Name] = outcome
		fmt.Fprintf(progress, "%-9s %s\n", outcome, m)
	}

	return tried, nil
}
