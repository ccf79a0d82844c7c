package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// beforeRounds is how often each program runs. Its runs are short, so that a change of the machine's
// load meets both programs.
const beforeRounds = 9

// compareBefore runs parts of this program and of an earlier build of it in turns, each in short
// rounds, and prints the medians of every figure that both have, and their ratio.
func compareBefore(ctx context.Context, out io.Writer, before, only string) error {
	now, err := os.Executable()
	if err != nil {
		return err
	}

	programs := []string{before, now}
	figures := []map[string][]float64{{}, {}}
	for round := range beforeRounds {
		for i := range programs {
			// The first one changes with each round: the second may find a warmer machine.
			n := (round + i) % len(programs)
			if err := measureOnce(ctx, programs[n], only, figures[n]); err != nil {
				return fmt.Errorf("%s: %w", programs[n], err)
			}
		}
	}

	var names []string
	for name := range figures[1] {
		if len(figures[0][name]) > 0 {
			names = append(names, name)
		}
	}

	if len(names) == 0 {
		return errors.New("the programs have no figure in common")
	}

	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "figure\tbefore\tnow\tnow/before\t(medians of %d runs in turns)\n", beforeRounds)

	for _, name := range slices.Sorted(slices.Values(names)) {
		was, is := median(figures[0][name]), median(figures[1][name])
		fmt.Fprintf(table, "%s\t%.4g\t%.4g\t%.3f\t\n", name, was, is, is/cmp.Or(was, 1))
	}

	return table.Flush()
}

// measureOnce runs a short round of the program's parts and adds its figures.
func measureOnce(ctx context.Context, program, only string, figures map[string][]float64) error {
	dir, err := os.MkdirTemp("", "bench-before-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "figures.json")

	// Without BENCH_BEFORE, which would make the program compare again.
	cmd := exec.CommandContext(ctx, program, "-only", only)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BENCH_") }),
		"BENCH_SHORT=1", "BENCH_JSON="+file)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}

	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}

	var one map[string]float64
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}

	for name, value := range one {
		figures[name] = append(figures[name], value)
	}

	return nil
}
