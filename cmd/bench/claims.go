package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ratchet/once"
)

const claimsTable = "bench-once"

// benchClaims compares once.Do with Powertools for AWS Lambda: executions per second, each under a
// new key, in turns, over HTTP on the same endpoint. The endpoints are the embedded engine's socket
// and DynamoDB Local. If Powertools or an endpoint cannot be installed or started, its figures are
// left out, and stderr says so.
func benchClaims(ctx context.Context, work size) ([]figure, error) {
	python, err := openPowertools(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF POWERTOOLS, it cannot be installed: %v\n\n", err)
		// A missing rival is no failure of the run; an interrupt is.
		return nil, ctx.Err()
	}

	var figures []figure
	for _, open := range []func(context.Context) (*endpoint, error){openSocket, openLocal} {
		e, err := open(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF POWERTOOLS ON DYNAMODB LOCAL: %v\n\n", err)
			continue
		}

		f, err := compareClaims(ctx, work, e, python)
		if err = errors.Join(err, e.stop()); err != nil {
			return nil, err
		}
		figures = append(figures, f...)
	}

	return figures, nil
}

const (
	claimCallers = 32
	// pythonThreads are the threads of the one Python process: Powertools runs in one, as in
	// a Lambda function. Only one thread runs at a time, so its rate hardly changes between
	// 1 and 32.
	pythonThreads = 8
	// pythonPerSecond is an estimate from which the length of the rounds follows.
	pythonPerSecond = 250
)

// doNothing is the work under a claim.
func doNothing(context.Context, *once.Claim) ([]byte, error) {
	return []byte(`{"done":true}`), nil
}

// compareClaims measures both on one endpoint. The first round warms up and does not count.
func compareClaims(ctx context.Context, work size, e *endpoint, python *powertools) ([]figure, error) {
	if err := e.tables(ctx, once.TableInput(claimsTable)); err != nil {
		return nil, err
	}
	m := &unitMeter{Client: e.db}

	claims, err := once.New(once.Config{DynamoDB: m, Table: claimsTable})
	if err != nil {
		return nil, err
	}

	// Three seconds a round: long enough for Python's start-up to be small.
	rounds := max(work.rounds, int(work.budget.Seconds()/3))
	executions := max(100, int(work.budget.Seconds())*pythonPerSecond/rounds/2)
	goExecutions := 10 * executions // about ten times as fast: both take about the same time

	var ours, theirs, ratios []float64
	var unitsOurs, unitsTheirs float64
	for round := range rounds + 1 {
		// Only the units of this round's executions count.
		m.take()
		began := time.Now()

		err := share(ctx, claimCallers, goExecutions, func(ctx context.Context, n int) error {
			_, replayed, err := claims.Do(ctx, fmt.Sprintf("go-%d-%d", round, n), nil, doNothing)
			if err == nil && replayed {
				err = errors.New("a new key was replayed")
			}

			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: claims: %w", e.name, err)
		}

		rate := float64(goExecutions) / time.Since(began).Seconds()
		units := m.take()

		c, err := python.run(ctx, e.url, executions, pythonThreads, fmt.Sprintf("py-%d", round))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}

		// The first round compiles, connects and fills caches.
		if round == 0 {
			continue
		}

		theirRate := float64(executions) / c.Seconds
		ours = append(ours, rate)
		theirs = append(theirs, theirRate)
		ratios = append(ratios, rate/theirRate)
		unitsOurs = units / float64(goExecutions)
		unitsTheirs = c.WriteUnits / float64(executions)
	}

	// docs/internals/benchmarks.md names the figures on DynamoDB Local without a suffix.
	suffix := e.suffix
	if suffix == "_dynamodb_local" {
		suffix = ""
	}

	return []figure{
		{
			name:  "claims_vs_powertools" + suffix,
			value: median(ratios),
			about: fmt.Sprintf("once.Do, %d callers / Powertools for Python, %d threads, executions per second, %s", claimCallers, pythonThreads, e.name),
		},
		{
			name:  "claims_per_second" + suffix,
			value: median(ours),
			unit:  "1/s",
			about: "claim, no work, complete: once.Do",
		},
		{
			name:  "powertools_claims_per_second" + suffix,
			value: median(theirs),
			unit:  "1/s",
			about: "the same: Powertools, one process",
		},
		{name: "claim_write_units" + suffix, value: unitsOurs, about: "write units per execution: once.Do"},
		{
			name:  "powertools_write_units" + suffix,
			value: unitsTheirs,
			about: "write units per execution: Powertools",
		},
	}, nil
}
