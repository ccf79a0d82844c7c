package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded"
	"ratchet/once"
)

var (
	//go:embed powertools.py
	powertoolsScript string
	//go:embed powertools.txt
	powertoolsVersions string
)

// powertools is a Python with Powertools for AWS Lambda.
type powertools struct{ python string }

// openPowertools makes a virtual environment under .cache with the pinned versions, or
// uses the one that is there.
func openPowertools(ctx context.Context) (*powertools, error) {
	home, err := filepath.Abs(".cache/powertools")
	if err != nil {
		return nil, err
	}

	python, installed := filepath.Join(home, "bin", "python"), filepath.Join(home, "installed.txt")
	if have, err := os.ReadFile(installed); err == nil && string(have) == powertoolsVersions {
		return &powertools{python}, nil
	}

	for _, command := range [][]string{
		{"python3", "-m", "venv", home},
		append([]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, strings.Fields(powertoolsVersions)...),
	} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
		}
	}

	return &powertools{python}, os.WriteFile(installed, []byte(powertoolsVersions), 0o600)
}

// claimed is how long a number of executions took and what they consumed.
type claimed struct {
	Seconds    float64 `json:"seconds"`
	WriteUnits float64 `json:"writeUnits"`
}

// run claims, works (nothing) and completes, with that many threads.
func (p *powertools) run(ctx context.Context, url string, executions, threads int, round string) (c claimed, err error) {
	cmd := exec.CommandContext(ctx, p.python, "-W", "ignore", "-", url, claimsTable, strconv.Itoa(executions), strconv.Itoa(threads), round)
	cmd.Stdin, cmd.Stderr = strings.NewReader(powertoolsScript), os.Stderr

	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("powertools: %w", err)
	}

	return c, json.Unmarshal(out, &c)
}

const claimsTable = "bench-once"

// benchClaims runs the same number of executions under keys of their own through
// once.Do and through Powertools, in turns, over HTTP on the same endpoint: the engine's
// socket, and DynamoDB Local. Powertools runs in one process, as in a Lambda function,
// and with 8 threads: from 1 to 32 its rate hardly changes, since one of them runs at a
// time.
func benchClaims(ctx context.Context, work size) ([]figure, error) {
	python, err := openPowertools(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF POWERTOOLS, it cannot be installed: %v\n\n", err)
		return nil, ctx.Err()
	}

	var figures []figure
	for _, open := range []func(context.Context) (*endpoint, error){openSocket, openLocal} {
		e, err := open(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "\nbench: NO FIGURES OF POWERTOOLS ON DYNAMODB LOCAL: %v\n\n", err)
			continue
		}

		f, err := claimsBeside(ctx, work, e, python)
		if err = errors.Join(err, e.stop()); err != nil {
			return nil, err
		}
		figures = append(figures, f...)
	}

	return figures, nil
}

// openSocket serves an embedded engine on a loopback listener.
func openSocket(context.Context) (*endpoint, error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, err
	}

	engine, err := embedded.Open(embedded.Config{Dir: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	web := httptest.NewServer(engine.Handler())
	e := remote("embedded engine over its socket", web.URL)
	e.suffix = "_embedded"
	e.stop = func() error { web.Close(); return errors.Join(engine.Close(), os.RemoveAll(dir)) }

	return e, nil
}

const (
	claimCallers    = 32
	pythonThreads   = 8
	pythonPerSecond = 250 // a guess that sizes its rounds
)

func claimsBeside(ctx context.Context, work size, e *endpoint, python *powertools) ([]figure, error) {
	if err := e.tables(ctx, once.TableInput(claimsTable)); err != nil {
		return nil, err
	}
	m := &unitMeter{Client: e.db}

	claims, err := once.New(once.Config{DynamoDB: m, Table: claimsTable})
	if err != nil {
		return nil, err
	}
	rounds := max(work.rounds, int(work.budget.Seconds()/3))
	executions := max(100, int(work.budget.Seconds())*pythonPerSecond/rounds/2)

	goExecutions := 10 * executions
	var ours, theirs, ratios []float64
	var unitsOurs, unitsTheirs float64
	for round := range rounds + 1 { // the first one warms up
		m.take()
		began := time.Now()

		if err := share(ctx, claimCallers, goExecutions, func(ctx context.Context, n int) error {
			_, replayed, err := claims.Do(ctx, fmt.Sprintf("go-%d-%d", round, n), nil, func(context.Context, *once.Claim) ([]byte, error) { return []byte(`{"done":true}`), nil })
			if err == nil && replayed {
				err = errors.New("a new key was replayed")
			}

			return err
		}); err != nil {
			return nil, fmt.Errorf("%s: claims: %w", e.name, err)
		}
		rate := float64(goExecutions) / time.Since(began).Seconds()
		units := m.take()

		c, err := python.run(ctx, e.url, executions, pythonThreads, fmt.Sprintf("py-%d", round))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}

		if round == 0 {
			continue
		}
		theirRate := float64(executions) / c.Seconds
		ours, theirs, ratios = append(ours, rate), append(theirs, theirRate), append(ratios, rate/theirRate)
		unitsOurs, unitsTheirs = units/float64(goExecutions), c.WriteUnits/float64(executions)
	}

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

// unitMeter is the SDK's client; it adds up what the writes of claims consume.
type unitMeter struct {
	*dynamodb.Client
	mu    sync.Mutex
	units float64
}

func (m *unitMeter) take() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	units := m.units
	m.units = 0

	return units
}

func (m *unitMeter) add(c *types.ConsumedCapacity) {
	if c != nil && c.CapacityUnits != nil {
		m.mu.Lock()
		m.units += *c.CapacityUnits
		m.mu.Unlock()
	}
}

// UpdateItem asks for the units.
func (m *unitMeter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.UpdateItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}

	return out, err
}

// PutItem asks for the units.
func (m *unitMeter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.PutItem(ctx, in, opts...)
	if err == nil {
		m.add(out.ConsumedCapacity)
	}

	return out, err
}
