package tasktoken_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var expires = time.Unix(1_800_000_000, 0)

func open(t *testing.T) (*tasktoken.Store, *dynamodb.Client) {
	t.Helper()
	db := embeddedtest.DynamoDB(t, tasktoken.TableInput("parked"))

	store, err := tasktoken.New(tasktoken.Config{DynamoDB: db, Table: "parked"})
	if err != nil {
		t.Fatal(err)
	}

	return store, db
}

// park parks tasks as Step Functions does.
func park(t *testing.T, db *dynamodb.Client, tasks ...tasktoken.Task) {
	t.Helper()

	for _, task := range tasks {
		if ok, err := parkAs(db, task.OrderID, task.Awaited, attempt{task.Attempt, task.Since, task.Token}); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
}

func waiting(t *testing.T, store *tasktoken.Store, orderID string, want ...tasktoken.Task) {
	t.Helper()

	got, err := store.Waiting(t.Context(), orderID)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(append([]tasktoken.Task{}, want...), got); diff != "" {
		t.Errorf("tasks of order %s (-want +got):\n%s", orderID, diff)
	}
}

func TestRemoveLeavesAnotherTokenAlone(t *testing.T) {
	store, db := open(t)
	task := tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: "second attempt", Attempt: tasktoken.Attempt{Started: started(1), Retries: 1}}
	park(t, db, task)
	waiting(t, store, "o-2")

	// The worker that answers the first attempt late must not delete the second.
	first := task
	first.Token = "first attempt"
	if err := store.Remove(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	waiting(t, store, "o-1", task)

	for range 2 {
		if err := store.Remove(t.Context(), task); err != nil {
			t.Fatalf("removing is idempotent: %v", err)
		}
		waiting(t, store, "o-1")
	}
}

func TestListPagesThroughAllTasksWithoutTheirTokens(t *testing.T) {
	store, db := open(t)
	for i := range 7 {
		park(t, db, tasktoken.Task{OrderID: fmt.Sprintf("o-%d", i), Awaited: "SHIPPED", Since: int64(i), Token: "secret", Attempt: tasktoken.Attempt{Started: started(1)}})
	}

	found := map[string]int64{}
	after := ""
	for pages := 1; ; pages++ {
		page, err := store.List(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}

		for _, task := range page {
			if task.Token != "" || task.Awaited != "SHIPPED" {
				t.Errorf("listed %+v", task)
			}
			found[task.OrderID] = task.Since
		}

		if len(page) < 3 {
			if pages != 3 {
				t.Errorf("%d pages for 7 tasks", pages)
			}
			break
		}
		after = page[len(page)-1].OrderID
	}

	want := map[string]int64{"o-0": 0, "o-1": 1, "o-2": 2, "o-3": 3, "o-4": 4, "o-5": 5, "o-6": 6}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func TestATokenIsNeverPrinted(t *testing.T) {
	task := tasktoken.Task{OrderID: "o-1", Token: "bearer-secret"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("parked", "token", task.Token)

	for _, text := range []string{log.String(), fmt.Sprint(task.Token), fmt.Sprintf("%+v", task), fmt.Sprintf("%#v", task)} {
		if strings.Contains(text, "bearer-secret") {
			t.Errorf("the token is in %q", text)
		}
	}

	if tasktoken.Token("a").String() == tasktoken.Token("b").String() {
		t.Error("the digests of two tokens must differ")
	}
}

func TestAnErrorNamesTheTaskAndHidesTheToken(t *testing.T) {
	store, _ := open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	task := tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Token: "bearer-secret"}
	_, waitingErr := store.Waiting(ended, "o-1")
	_, listErr := store.List(ended, "", 1)
	_, _, getErr := store.Get(ended, "o-1")
	_, _, movedErr := store.Moved(ended, "o-1", 3, "SHIPPED", expires)

	for _, test := range []struct {
		verb string
		err  error
		want string
	}{
		{verb: "Remove", err: store.Remove(ended, task), want: "remove the parked task of order o-1 awaiting SHIPPED: "},
		{verb: "Waiting", err: waitingErr, want: "parked task of order o-1: "},
		{verb: "Get", err: getErr, want: "parked task of order o-1: "},
		{verb: "Moved", err: movedErr, want: "record for the tasks of order o-1 that it is SHIPPED: "},
		{verb: "List", err: listErr, want: "list parked tasks: "},
	} {
		if test.err == nil || !strings.HasPrefix(test.err.Error(), test.want) || strings.Contains(test.err.Error(), "bearer-secret") {
			t.Errorf("%s: %v, want %q", test.verb, test.err, test.want)
		}
	}
}

func TestNewReportsEveryFaultOfItsConfig(t *testing.T) {
	_, err := tasktoken.New(tasktoken.Config{})
	if err == nil || !strings.Contains(err.Error(), "Config.DynamoDB") || !strings.Contains(err.Error(), "Config.Table") {
		t.Errorf("got %v", err)
	}
}

// The newest transition answers the task. A delivery of an older one that comes late must not answer it
// with the state of its own.
func TestALateOlderTransitionAnswersNoTask(t *testing.T) {
	store, db := open(t)
	task := tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 1, Token: "token", Attempt: tasktoken.Attempt{Started: started(1)}}
	park(t, db, task)

	for _, move := range []struct {
		id      int64
		state   string
		waiting bool
	}{{3, "SHIPPED", true}, {2, "PACKED", false}, {3, "SHIPPED", true}} {
		row, waiting, err := store.Moved(t.Context(), "o-1", move.id, move.state, expires)
		if err != nil || waiting != move.waiting || row.Token != "token" || row.Moved != 3 {
			t.Errorf("transition %d: %+v waiting %t, %v, want %t", move.id, row, waiting, err, move.waiting)
		}
	}
}

// A row that cannot be read is an error of the move: otherwise its task would be left waiting.
func TestAMoveNamesARowThatCannotBeRead(t *testing.T) {
	for name, wrong := range map[string]types.AttributeValue{
		"moved": dynamo.S("2"), "taskToken": dynamo.N(1), "since": dynamo.S("1"),
	} {
		store, db := open(t)
		park(t, db, tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 1, Token: "token", Attempt: tasktoken.Attempt{Started: started(1)}})

		key := dynamo.Item{"orderId": dynamo.S("o-1")}
		if _, err := db.UpdateItem(t.Context(), dynamo.NewUpdate("parked", key).SetValue(name, wrong).Input()); err != nil {
			t.Fatal(err)
		}

		for range 2 {
			if row, waiting, err := store.Moved(t.Context(), "o-1", 3, "SHIPPED", expires); err == nil {
				t.Errorf("%s: %+v waiting %t", name, row, waiting)
			}
		}

		if all, err := store.Waiting(t.Context(), "o-1"); err == nil {
			t.Errorf("%s: waiting: %v", name, all)
		}
	}
}
