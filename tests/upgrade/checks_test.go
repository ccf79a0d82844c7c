//go:build upgrade

package upgrade

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server/scenario"
	"ratchet/streams/status"
)

// stream returns how far the orders' stream is handled.
func (d *deployment) stream() status.Status {
	d.t.Helper()

	status, err := d.look.StreamInspector().Status(d.ctx)
	if err != nil {
		d.t.Fatal(err)
	}

	return status
}

// check waits until all work is done, and compares everything with everything.
func (d *deployment) check() {
	t := d.t
	t.Helper()

	if err := scenario.Wait(d.ctx, d.look); err != nil {
		t.Fatal(err)
	}
	d.load.untilQueueEmpty(d.ctx, t, d.look)

	count, err := d.load.plan.RecountUntilConsistent(d.ctx, d.look)
	if err != nil {
		t.Fatal(err)
	}

	for _, found := range count.Discrepancies {
		t.Errorf("%s: %s", found.OrderID, found.What)
	}

	// Most orders are delivered; some are canceled, declined, or out of stock.
	if n := count.ByState["DELIVERED"]; n < d.load.plan.Orders/2 || n == d.load.plan.Orders || count.MostShipments != 1 {
		t.Errorf("%d of %d orders were delivered, at most %d shipments each", n, d.load.plan.Orders, count.MostShipments)
	}

	if n := d.load.both.Load(); n < 2*perStage {
		t.Errorf("only %d requests were answered by both versions", n)
	}

	// A worker may have been stopped between the two endpoints.
	until(d.ctx, t, "the notifications of both endpoints", func() bool {
		return d.receiver.count("/configured") >= count.Notices && d.receiver.count("/stored") >= count.Notices
	})
	d.receiver.check(t, count.Notices, "/configured", "/stored")
	d.checkStream()
	d.checkWork()

	for _, bin := range []string{d.new, d.old} {
		t.Logf("%s: %s%s", d.version(bin), d.command(bin, "verify", "--lag", "0s"), d.command(bin, "ledger", "verify"))

		if letters := d.command(bin, "deadletters", "list", "--json"); strings.TrimSpace(letters) != "" {
			t.Errorf("%s: dead letters: %s", d.version(bin), letters)
		}
	}
	t.Logf("%v, %d transitions, %d requests were answered by both versions", count.ByState, count.Transitions, d.load.both.Load())
}

// checkStream checks that no records were lost, given up or left behind.
func (d *deployment) checkStream() {
	d.t.Helper()

	var stream status.Status

	// A checkpoint is written some seconds after its records are handled.
	until(d.ctx, d.t, "the checkpoints to follow", func() bool {
		stream = d.stream()
		return !slices.ContainsFunc(stream.Shards, func(shard status.ShardStatus) bool { return shard.Records > 0 })
	})

	if stream.Replaced != 0 || stream.Finished < 3*4 {
		d.t.Errorf("the stream: replaced %d times, %d shards are handled to their end", stream.Replaced, stream.Finished)
	}

	for _, shard := range stream.Shards {
		if shard.Gaps != 0 {
			d.t.Errorf("shard %+v", shard)
		}
	}

	for _, h := range stream.Handlers {
		if h.DeadLetters != 0 || h.Records != 0 {
			d.t.Errorf("handler %+v", h)
		}
	}
}

// checkWork checks that every worker had a part in the executions.
func (d *deployment) checkWork() {
	d.t.Helper()

	arn, err := d.look.StateMachineARN(d.ctx)
	if err != nil {
		d.t.Fatal(err)
	}

	tasks := map[string]int{}
	mixed := 0 // executions with tasks of both versions
	executions := sfn.NewListExecutionsPaginator(d.look.SFN, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1000})
	for executions.HasMorePages() {
		page, err := executions.NextPage(d.ctx)
		if err != nil {
			d.t.Fatal(err)
		}

		for _, e := range page.Executions {
			versions := map[string]bool{}

			history := sfn.NewGetExecutionHistoryPaginator(d.look.SFN, &sfn.GetExecutionHistoryInput{ExecutionArn: e.ExecutionArn, MaxResults: 1000})
			for history.HasMorePages() {
				page, err := history.NextPage(d.ctx)
				if err != nil {
					d.t.Fatal(err)
				}

				for _, event := range page.Events {
					if event.Type == sfntypes.HistoryEventTypeActivityStarted {
						name := aws.ToString(event.ActivityStartedEventDetails.WorkerName)
						version, _, _ := strings.Cut(name, "-")
						versions[version] = true
						tasks[name]++
					}
				}
			}

			if len(versions) == 2 {
				mixed++
			}
		}
	}

	d.t.Logf("tasks by worker: %v; %d executions had workers of both versions", tasks, mixed)
	for _, name := range []string{"old-a", "old-b", "new-c", "new-d", "new-e"} {
		if tasks[name] == 0 {
			d.t.Errorf("worker %s had no task", name)
		}
	}
}

// expected are the warnings that killed processes cause in the processes that go on.
var expected = []*regexp.Regexp{
	regexp.MustCompile(`the (bank|carrier) is a sandbox`),
	regexp.MustCompile(`message rejected.*reason="apply cancel to order [^ ]+ WrongState: `), // it came after the order's end
}

// checkLogs checks that no process has complained of anything but killed ones: above all not of members,
// attributes or rows that it does not know.
func (d *deployment) checkLogs() {
	d.t.Helper()

	for _, name := range slices.Sorted(maps.Keys(d.logs)) {
		file, err := os.Open(name)
		if err != nil {
			d.t.Fatal(err)
		}

		for lines := bufio.NewScanner(file); lines.Scan(); {
			line := lines.Text()
			loud := strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "unknown")

			if loud && !slices.ContainsFunc(expected, func(e *regexp.Regexp) bool { return e.MatchString(line) }) {
				d.t.Errorf("%s: %s", filepath.Base(name), line)
			}
		}
		_ = file.Close()
	}
}
