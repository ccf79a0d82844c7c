// Command raced prints a pattern for `go test -run`: the tests that `make race` runs.
//
//	go run ./internal/tools/raced [-one-caller "DIRECTORY ..."] DIRECTORY ...
//
// These are all tests of the directories, but of those after -one-caller only the tests that start a
// goroutine: themselves, or in a function of the package's tests that they reach. A goroutine is started by
// a go statement, a method Go, as those of sync.WaitGroup and errgroup.Group have, and by AfterFunc. What a
// test reaches is found by names: a method stands for all methods with its name, so rather too many are found.
//
// Two comments correct that. The tool fails if there is no such test:
//
//	//raced:here            a test is raced, because the code that it calls starts goroutines
//	//raced:in TestOfIt     what this function starts is raced in TestOfIt, not in each test that calls it
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	oneCaller := flag.String("one-caller", "", "`directories` of which only tests with goroutines are raced")
	flag.Parse()

	pattern, err := pattern(flag.Args(), strings.Fields(*oneCaller))
	if err != nil {
		fmt.Fprintln(os.Stderr, "raced:", err)
		os.Exit(1)
	}
	fmt.Println(pattern)
}

// pattern returns the pattern of the tests that are raced. Those of a package that runs as a whole
// have the same name in another package now and then: then that one runs, too.
func pattern(dirs, oneCaller []string) (string, error) {
	var raced []string

	for _, dir := range dirs {
		tests, err := read(dir)
		if err != nil {
			return "", err
		}

		if !slices.Contains(oneCaller, dir) {
			raced = append(raced, tests.all...)
			continue
		}

		some, err := tests.raced()
		if err != nil {
			return "", fmt.Errorf("%s: %w", dir, err)
		}
		raced = append(raced, some...)
	}

	slices.Sort(raced)

	return "^(" + strings.Join(slices.Compact(raced), "|") + ")$", nil
}

// read reads the tests of a directory.
func read(dir string) (*tests, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}

	t := &tests{named: map[string][]*function{}}

	for _, path := range paths {
		if err := t.read(path); err != nil {
			return nil, err
		}
	}

	return t, nil
}
