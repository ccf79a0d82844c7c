package stepfunctions

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"
)

// mapKillDir is the environment variable that makes the test process the victim of
// TestKillMapRun.
const mapKillDir = "STEPFUNCTIONS_MAP_KILL_DIR"

// killedItems is the number of items of the Map that is killed.
const killedItems = 300

// After SIGKILL in the middle of a Map Run, the engine that opens the directory goes on with
// it: each item has one child, and a child whose end was answered does not run again.
func TestKillMapRun(t *testing.T) {
	if dir := os.Getenv(mapKillDir); dir != "" {
		mapVictim(t, dir)
		return
	}

	dir := t.TempDir()
	done := map[string]bool{}

	for _, lines := range []int{1, 40, 120} {
		for _, item := range killMapAfter(t, dir, lines) {
			done[item] = true
		}
	}

	b := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())

	var g errgroup.Group
	g.Go(func() error {
		for {
			got, err := b.GetActivityTask(ctx, &sfn.GetActivityTaskInput{ActivityArn: aws.String(b.activity("w"))})
			if err != nil {
				return nil // the Map is over
			}

			if done[*got.Input] {
				t.Errorf("%s runs again", *got.Input)
			}

			// On a slow machine the task may have come back meanwhile.
			if err := b.succeed(got.TaskToken, *got.Input); err != nil && code(err) != "TaskTimedOut" {
				return err
			}
		}
	})

	last := b.poll(b.activity("last"))
	cancel()

	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}

	var results []int
	if err := json.Unmarshal([]byte(*last.Input), &results); err != nil || len(results) != killedItems {
		t.Fatalf("%s: %v", *last.Input, err)
	}

	for i, result := range results {
		if result != i {
			t.Fatalf("result %d is %d", i, result)
		}
	}

	run := b.mapRuns("arn:aws:states:us-east-1:000000000000:execution:m:e")[0]
	if c := run.ExecutionCounts; run.Status != types.MapRunStatusSucceeded || c.Succeeded != killedItems || c.Total != killedItems {
		t.Errorf("%+v %+v", run, c)
	}
}

// killMapAfter runs the victim until it has printed a number of lines, and kills it. It returns
// the items whose end was answered.
func killMapAfter(t *testing.T, dir string, lines int) (items []string) {
	t.Helper()

	killWhen(t, "TestKillMapRun", mapKillDir+"="+dir, func(line string) bool {
		item, done := strings.CutPrefix(line, "done ")
		if done {
			items = append(items, item)
		}

		return done && len(items) == lines
	})

	if len(items) == 0 {
		t.Fatal("the victim printed nothing")
	}

	return items
}

// mapVictim answers the tasks of a Map until it is killed, and prints each answer.
func mapVictim(t *testing.T, dir string) {
	b := open(t, dir)
	activity := b.activity("w")

	// A task that the victim has taken comes back.
	each := mapOf("STANDARD", `"MaxConcurrency":16,`, "W", `"W":{"Type":"Task","Resource":"`+activity+`","HeartbeatSeconds":1,`+
		`"Retry":[{"ErrorEquals":["States.HeartbeatTimeout"],"IntervalSeconds":1,"BackoffRate":1,"MaxAttempts":100}],"End":true}`)
	machine := b.machine("m", `{"StartAt":"Run","States":{"Run":{"Type":"Parallel","Branches":[`+each+`],"OutputPath":"$[0]","Next":"Last"},`+
		`"Last":{"Type":"Task","Resource":"`+b.activity("last")+`","End":true}}}`)

	input := make([]int, killedItems)
	for i := range input {
		input[i] = i
	}

	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}

	_, err = b.StartExecution(t.Context(), &sfn.StartExecutionInput{
		StateMachineArn: &machine, Name: aws.String("e"), Input: aws.String(string(text)),
	})
	if err != nil {
		t.Fatal(err)
	}

	for {
		got, err := b.GetActivityTask(context.Background(), &sfn.GetActivityTaskInput{ActivityArn: &activity})
		if err != nil {
			t.Fatal(err)
		}

		switch err := b.succeed(got.TaskToken, *got.Input); {
		case err == nil:
			fmt.Println("done", *got.Input)
		case code(err) != "TaskTimedOut":
			t.Fatal(err)
		}
	}
}
