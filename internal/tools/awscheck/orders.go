package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// shopsEnd is where the shop's orders end. Orders of another workflow need others to move them on, so the check waits
// only until their executions have placed them.
const shopsEnd = "DELIVERED"

// orders are what the check places.
type orders struct {
	setup []string // a command before them
	end   string   // the state to wait for, empty for any
	args  []string // of `orders create`
}

// move is what the check does to orders in the place of people and other programs.
type move struct{ state, event string }

// movesOf reads the flag -apply.
func movesOf(text string) (all []move, err error) {
	for pair := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		state, event, found := strings.Cut(pair, "=")
		if !found || state == "" || event == "" {
			return nil, fmt.Errorf("apply %q: write STATE=EVENT", pair)
		}
		all = append(all, move{state, event})
	}

	return all, nil
}

// known returns the orders that fit the program's workflow: those that the flags say, and otherwise the shop's.
func (c *check) known(ctx context.Context) (orders, error) {
	o, err := c.shops(ctx)

	if c.setup != "" {
		o.setup = strings.Fields(c.setup)
	}

	if c.create != "" {
		o.args = strings.Fields(c.create)
	}
	o.end = firstOf(c.end, o.end)

	return o, err
}

// shops returns the orders of the shop, as far as the program's workflow has what they have.
func (c *check) shops(ctx context.Context) (o orders, err error) {
	o.setup = []string{"inventory", "set", "mug", fmt.Sprint(2 * c.orders)}

	text, err := c.ratchet(ctx, "workflow", "show", "--format", "yaml")
	if err != nil {
		return o, err
	}

	if strings.Contains(text, "state: "+shopsEnd+"\n") {
		o.end = shopsEnd
	}

	// Without the member content, orders have all parts.
	_, content, limited := strings.Cut(text, "\ncontent:")
	content, _, _ = strings.Cut(content, "\nstates:")

	if !limited || strings.Contains(content, "items") {
		o.args = []string{"--item", "mug:1:1250"}
	}

	return o, nil
}

// runOrders starts two workers, places orders, kills a worker when some have arrived, and waits for all of them.
func (c *check) runOrders(ctx context.Context) (err error) {
	o, err := c.known(ctx)
	if err != nil {
		return err
	}

	first, err := c.startWorker("first")
	if err != nil {
		return err
	}
	defer func() { _ = first.Process.Kill() }()

	second, err := c.startWorker("second")
	if err != nil {
		return err
	}
	defer c.endWorker(second)

	if _, err := c.ratchet(ctx, o.setup...); err != nil {
		return err
	}

	for i := range c.orders {
		if _, err := c.ratchet(ctx, append([]string{"orders", "create", fmt.Sprintf("check-%d", i)}, o.args...)...); err != nil {
			return err
		}
	}

	killed := false

	return c.until(ctx, func() (bool, error) {
		if err := c.moveOn(ctx); err != nil {
			return false, err
		}

		arrived, err := c.arrived(ctx, o.end)
		if err != nil {
			return false, err
		}

		ended := len(arrived)
		if !killed && ended >= c.orders/4 {
			killed = true
			fmt.Fprintf(c.out, "%d of %d orders are %s: a worker is killed\n", ended, c.orders, firstOf(o.end, "placed"))
			_ = first.Process.Signal(syscall.SIGKILL)
			_ = first.Wait() // "signal: killed"
		}

		return killed && ended == c.orders, nil
	})
}

// startWorker starts a process of the program. It does not end with the check's context: a signal ends it orderly.
func (c *check) startWorker(name string) (*exec.Cmd, error) {
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has the file open by itself

	cmd := exec.Command(c.program, "worker", "--name", name, "--sandbox-carrier") //nolint:noctx // the program under test; endWorker ends it
	cmd.Env = append(os.Environ(), c.settings()...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this check first

	return cmd, cmd.Start()
}

// endWorker lets a worker finish its work in progress.
func (c *check) endWorker(worker *exec.Cmd) {
	_ = worker.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(time.Minute, func() { _ = worker.Process.Kill() })
	_ = worker.Wait()
	kill.Stop()
}

// moveOn applies the events of -apply to the orders that wait for them.
func (c *check) moveOn(ctx context.Context) error {
	for _, m := range c.moves {
		waiting, err := c.arrived(ctx, m.state)
		if err != nil {
			return err
		}

		for _, id := range waiting {
			// Refused: the program has moved the order since it was listed. The next list has its new state.
			if _, err := c.ratchet(ctx, "orders", "apply", id, m.event); err != nil && exitStatus(err) != refused {
				return err
			}
		}
	}

	return nil
}

// refused is the exit status of a command whose request was decided and refused.
const refused = 3

func exitStatus(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}

	return 0
}

// arrived returns the orders that have reached a state, or any.
func (c *check) arrived(ctx context.Context, state string) (ids []string, err error) {
	args := []string{"orders", "list", "--json", "--limit", "1000"}
	if state != "" {
		args = append(args, "--state", state)
	}

	out, err := c.ratchet(ctx, args...)
	if err != nil {
		return nil, err
	}

	for line := range strings.Lines(out) {
		var order struct {
			ID string `json:"orderId"`
		}
		if json.Unmarshal([]byte(line), &order) == nil && order.ID != "" {
			ids = append(ids, order.ID)
		}
	}

	return ids, nil
}

// until asks again until it is done, or the time of the check is up.
func (c *check) until(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.wait, fmt.Errorf("not done after %s", c.wait))
	defer cancel()

	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	for {
		if ok, err := done(); ok || err != nil {
			return err
		}

		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), c.logs())
		case <-tick.C:
		}
	}
}

// logs returns the ends of the workers' logs, as an error.
func (c *check) logs() error {
	names, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))

	var all []error
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			all = append(all, fmt.Errorf("%s: %s", filepath.Base(name), lastLines(string(text), 10)))
		}
	}

	return errors.Join(all...)
}

// executions fails if an execution did: a carrier or a person may have moved its order all the same.
func (c *check) executions(ctx context.Context) error {
	machines, err := c.list(ctx, "stepfunctions", "list-state-machines", "--query", "stateMachines[].stateMachineArn")
	if err != nil {
		return err
	}

	machines = slices.DeleteFunc(machines, func(arn string) bool { return !ours(c.prefix, arn) })
	if len(machines) == 0 {
		return errors.New("there is no state machine")
	}

	for _, machine := range machines {
		for _, status := range []string{"FAILED", "TIMED_OUT", "ABORTED"} {
			names, err := c.list(ctx, "stepfunctions", "list-executions", "--state-machine-arn", machine, "--status-filter", status, "--query", "executions[].executionArn")
			if err != nil {
				return err
			}

			if len(names) > 0 {
				cause, err := c.aws(ctx, "stepfunctions", "describe-execution", "--execution-arn", names[0], "--query", "[error, cause]", "--output", "text")

				return errors.Join(fmt.Errorf("%d are %s: %s: %s", len(names), status, names[0], cause), err)
			}
		}
	}

	return nil
}

// verify compares the orders with their journals. A worker that was killed had taken records, which another one repeats.
func (c *check) verify(ctx context.Context) error {
	out, err := c.ratchet(ctx, "verify", "--json")
	if err != nil {
		return fmt.Errorf("%w: %s", err, lastLines(out, 5))
	}

	return nil
}

// doctor examines what is deployed. Only on AWS are there backups to ask for.
func (c *check) doctor(ctx context.Context) error {
	out, err := c.ratchet(ctx, "doctor", "--json")

	var failures []string
	for line := range strings.Lines(out) {
		var one struct{ Subject, Result, Found string }
		if json.Unmarshal([]byte(line), &one) == nil && one.Result == "failure" {
			failures = append(failures, one.Subject+": "+one.Found)
		}
	}

	if len(failures) > 0 {
		return errors.New(strings.Join(failures, "; "))
	}

	return err
}

// alarms waits until every alarm of the prefix is in OK.
func (c *check) alarms(ctx context.Context) error {
	if !c.cloud.account {
		return fmt.Errorf("the metrics of AWS's services are not there: %w", errOnlyAccount)
	}

	// One of the alarms fires when nothing reads the stream.
	reader, err := c.startWorker("reader")
	if err != nil {
		return err
	}
	defer c.endWorker(reader)

	return c.until(ctx, func() (bool, error) {
		all, err := c.list(ctx, "cloudwatch", "describe-alarms", "--alarm-name-prefix", c.prefix, "--query", "MetricAlarms[].StateValue")
		if err != nil {
			return false, err
		}

		for _, state := range all {
			if state != "OK" {
				return false, nil
			}
		}

		return len(all) > 0, nil
	})
}
