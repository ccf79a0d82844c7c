// Command mutants plants faults in a package, one at a time, and runs the package's tests
// against each. A mutant that no test notices has survived: either a test is missing, or
// the mutant makes no difference.
//
//	go run ./tests/mutants [-json] [-fresh] [-match REGEXP] [-timeout D] ./ledger
//
// Planted are: comparisons and their bounds, AND and OR, negated conditions, dropped calls
// and links of a builder of updates, errors that are not returned, true for false,
// arithmetic, and the parts of DynamoDB conditions in string literals.
//
// Each mutant is one file in an overlay (`go test -overlay`), so the tree is not touched.
// The tests run with -short and -failfast. Mutants run one after the other. The results are
// kept in .cache/mutants: an interrupted run goes on where it stopped. Later runs repeat
// only the survivors, and mutants of files that have changed.
//
// The file tests/mutants/explained.txt names survivors that make no difference, with the
// reason. The command fails if others survive.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	var o options
	flag.BoolVar(&o.json, "json", false, "print a JSON document")
	flag.BoolVar(&o.fresh, "fresh", false, "forget the results of earlier runs")
	flag.StringVar(&o.match, "match", "", "run only mutants whose name matches the `regexp`, such as reserve.go")
	flag.DurationVar(&o.timeout, "timeout", 0, "limit of one run of the tests (default: 5 times the run without a mutant, and 10s)")
	flag.StringVar(&o.cache, "cache", ".cache/mutants", "the `directory` of the results")
	flag.StringVar(&o.explained, "explained", "tests/mutants/explained.txt", "the `file` of survivors that make no difference")
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
	timeout                 time.Duration
}

// errSurvivors ends a run that found survivors without an explanation.
var errSurvivors = errors.New("mutants survived")

// run plants the mutants of each package and prints the reports.
func run(ctx context.Context, o options, packages []string, out, progress io.Writer) error {
	if len(packages) == 0 {
		return errors.New("name a package, such as ./ledger")
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

// examine plants the mutants of one package and runs its tests against each. The report is
// valid, and says what is missing, also when it ends with an error.
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

	l, err := newLab(ctx, p, o.timeout)
	if err != nil {
		return r, err
	}
	defer l.close()

	for _, m := range p.mutants {
		if !match.MatchString(m.Name) {
			continue
		}

		o, known := results.of(m)
		if !known {
			if o, err = l.try(ctx, m); err != nil {
				return r, err
			}

			if err := results.add(m, o); err != nil {
				return r, err
			}
			fmt.Fprintf(progress, "%-9s %s\n", o, m)
		}
		r.Mutants = append(r.Mutants, result{mutant: m, Outcome: o})
	}

	return r, nil
}
