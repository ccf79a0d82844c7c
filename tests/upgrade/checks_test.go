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
	"ratchet/streams"
)

// stream returns how far the orders' stream is handled.
func (s *shop) stream() streams.Status {
	s.t.Helper()

	status, err := s.look.StreamInspector().Status(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}

	return status
}

// check waits until all work is done, and compares everything with everything.
func (s *shop) check() {
	t := s.t
	t.Helper()

	if err := scenario.Wait(s.ctx, s.look); err != nil {
		t.Fatal(err)
	}
	s.load.untilQueueEmpty(s.ctx, t, s.look)

	count, err := s.load.plan.RecountUntilConsistent(s.ctx, s.look)
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range count.Discrepancies {
		t.Errorf("%s: %s", d.OrderID, d.What)
	}

	// Most orders are delivered; some are canceled, declined, or out of stock.
	if n := count.ByState["DELIVERED"]; n < s.load.plan.Orders/2 || n == s.load.plan.Orders || count.MostShipments != 1 {
		t.Errorf("%d of %d orders were delivered, at most %d shipments each", n, s.load.plan.Orders, count.MostShipments)
	}

	if n := s.load.both.Load(); n < 2*perStage {
		t.Errorf("only %d requests were answered by both versions", n)
	}

	// A worker may have been stopped between the two endpoints.
	until(s.ctx, t, "the notifications of both endpoints", func() bool {
		return s.receiver.count("/configured") >= count.Notices && s.receiver.count("/stored") >= count.Notices
	})
	s.receiver.check(t, count.Notices, "/configured", "/stored")
	s.checkStream()
	s.checkWork()

	for _, bin := range []string{s.new, s.old} {
		t.Logf("%s: %s%s", s.version(bin), s.command(bin, "verify", "--lag", "0s"), s.command(bin, "ledger", "verify"))

		if letters := s.command(bin, "deadletters", "list", "--json"); strings.TrimSpace(letters) != "" {
			t.Errorf("%s: dead letters: %s", s.version(bin), letters)
		}
	}
	t.Logf("%v, %d transitions, %d requests were answered by both versions", count.ByState, count.Transitions, s.load.both.Load())
}

// checkStream checks that no records were lost, given up or left behind.
func (s *shop) checkStream() {
	s.t.Helper()

	var status streams.Status

	// A checkpoint is written some seconds after its records are handled.
	until(s.ctx, s.t, "the checkpoints to follow", func() bool {
		status = s.stream()
		return !slices.ContainsFunc(status.Shards, func(shard streams.ShardStatus) bool { return shard.Records > 0 })
	})

	if status.Replaced != 0 || status.Finished < 3*4 {
		s.t.Errorf("the stream: replaced %d times, %d shards are handled to their end", status.Replaced, status.Finished)
	}

	for _, shard := range status.Shards {
		if shard.Gaps != 0 {
			s.t.Errorf("shard %+v", shard)
		}
	}

	for _, h := range status.Handlers {
		if h.DeadLetters != 0 || h.Records != 0 {
			s.t.Errorf("handler %+v", h)
		}
	}
}

// checkWork checks that every worker had a part in the executions.
func (s *shop) checkWork() {
	s.t.Helper()

	arn, err := s.look.StateMachineARN(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}

	tasks := map[string]int{}
	mixed := 0 // executions with tasks of both versions
	executions := sfn.NewListExecutionsPaginator(s.look.SFN, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1000})
	for executions.HasMorePages() {
		page, err := executions.NextPage(s.ctx)
		if err != nil {
			s.t.Fatal(err)
		}

		for _, e := range page.Executions {
			versions := map[string]bool{}

			history := sfn.NewGetExecutionHistoryPaginator(s.look.SFN, &sfn.GetExecutionHistoryInput{ExecutionArn: e.ExecutionArn, MaxResults: 1000})
			for history.HasMorePages() {
				page, err := history.NextPage(s.ctx)
				if err != nil {
					s.t.Fatal(err)
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

	s.t.Logf("tasks by worker: %v; %d executions had workers of both versions", tasks, mixed)
	for _, name := range []string{"old-a", "old-b", "new-c", "new-d", "new-e"} {
		if tasks[name] == 0 {
			s.t.Errorf("worker %s had no task", name)
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
func (s *shop) checkLogs() {
	s.t.Helper()

	for _, name := range slices.Sorted(maps.Keys(s.logs)) {
		file, err := os.Open(name)
		if err != nil {
			s.t.Fatal(err)
		}

		for lines := bufio.NewScanner(file); lines.Scan(); {
			line := lines.Text()
			loud := strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "unknown")

			if loud && !slices.ContainsFunc(expected, func(e *regexp.Regexp) bool { return e.MatchString(line) }) {
				s.t.Errorf("%s: %s", filepath.Base(name), line)
			}
		}
		_ = file.Close()
	}
}
