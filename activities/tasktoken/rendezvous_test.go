package tasktoken_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/activities/tasktoken"
)

// bg is a context for code that rapid runs.
func bg() context.Context { return context.Background() }

// attempt is one try of a waiting state, with the token that it would park.
type attempt struct {
	tasktoken.Attempt
	since int64
	token tasktoken.Token
}

// compare orders attempts by the time at which Step Functions made them.
func compare(a, b attempt) int {
	return cmp.Or(
		cmp.Compare(a.Started, b.Started),
		cmp.Compare(a.Redrives, b.Redrives),
		cmp.Compare(a.since, b.since),
		cmp.Compare(a.Visits, b.Visits),
		cmp.Compare(a.Retries, b.Retries),
	)
}

func started(n int64) string {
	return time.UnixMilli(1_790_000_000_000 + n).UTC().Format("2006-01-02T15:04:05.000Z")
}

// parkAs sends the UpdateItem that Step Functions sends for the attempt: the parameters of
// the state, with every path replaced by its value. It reports whether the condition held.
func parkAs(db *dynamodb.Client, orderID, awaited string, a attempt) (bool, error) {
	paths := tasktoken.Paths{OrderID: "$.run.order.orderId", Incarnation: "$.run.order.incarnation", Since: "$.run.order.transitionId", Visits: "$.run.visits"}
	values := map[string]string{
		"States.Format('{}.{}', " + paths.OrderID + ", " + paths.Incarnation + ")": orderID,
		"$$.Task.Token":             string(a.token),
		"$$.Execution.StartTime":    a.Started,
		"$$.Execution.RedriveCount": strconv.FormatInt(a.Redrives, 10),
		"$$.State.RetryCount":       strconv.FormatInt(a.Retries, 10),
		paths.Since:                 strconv.FormatInt(a.since, 10),
		paths.Visits:                strconv.FormatInt(a.Visits, 10),
	}

	text, err := json.Marshal(tasktoken.WaitParameters("parked", awaited, paths))
	if err != nil {
		return false, err
	}

	var in struct {
		TableName, UpdateExpression, ConditionExpression string
		Key, ExpressionAttributeValues                   map[string]map[string]string
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return false, err
	}

	item := func(from map[string]map[string]string) map[string]types.AttributeValue {
		out := map[string]types.AttributeValue{}
		for name, value := range from {
			for kind, text := range value {
				if path, isPath := strings.CutSuffix(kind, ".$"); isPath {
					// An expression in the table of values is taken whole, another one by the path in it.
					whole, known := values[text]
					if kind, text = path, values[strings.TrimSuffix(strings.TrimPrefix(text, "States.Format('{}', "), ")")]; known {
						text = whole
					}
				}

				out[name] = &types.AttributeValueMemberS{Value: text}
				if kind == "N" {
					out[name] = &types.AttributeValueMemberN{Value: text}
				}
			}
		}

		return out
	}

	_, err = db.UpdateItem(bg(), &dynamodb.UpdateItemInput{
		TableName:                 &in.TableName,
		Key:                       item(in.Key),
		UpdateExpression:          &in.UpdateExpression,
		ConditionExpression:       &in.ConditionExpression,
		ExpressionAttributeValues: item(in.ExpressionAttributeValues),
	})

	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return false, nil
	}

	return err == nil, err
}

// TestATokenAndAnArrivalAlwaysMeet lets executions park tokens and reactions record moves in
// any order, with writes that arrive late and twice, redrives, successors and repeated
// visits.
func TestATokenAndAnArrivalAlwaysMeet(t *testing.T) {
	store, db := open(t)

	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		w := &rendezvous{T: t, store: store, db: db, orderID: fmt.Sprintf("o-%d", runs), stored: attempt{}}
		t.Repeat(map[string]func(*rapid.T){
			"attempt":    w.attempt,
			"late write": w.lateWrite,
			"move":       w.move,
			"react":      w.react,
			"repeat":     w.repeat,
			"remove":     w.remove,
			"":           w.check,
		})
		w.settle()
	})
}

// rendezvous is one order and what has happened to its row.
type rendezvous struct {
	*rapid.T
	store   *tasktoken.Store
	db      *dynamodb.Client
	orderID string

	position int64     // the order's newest transition
	backlog  []int64   // moves that the reaction has not recorded
	recorded int64     // the newest that a reaction recorded
	made     []attempt // attempts that Step Functions made, oldest first
	pending  []attempt // those whose write has not arrived
	stored   attempt   // the one whose token the row holds
	learned  map[tasktoken.Token]bool
	kept     bool // the row must have an expiry
}

func (w *rendezvous) learn(token tasktoken.Token) {
	if w.learned == nil {
		w.learned = map[tasktoken.Token]bool{}
	}
	w.learned[token] = true
}

// attempt makes the next attempt. Its write arrives at once or later.
func (w *rendezvous) attempt(t *rapid.T) {
	a := attempt{}
	if len(w.made) > 0 {
		a = w.made[len(w.made)-1]
	}

	how := rapid.SampledFrom([]string{"successor", "redrive", "next state", "visit", "retry"}).Draw(t, "how")
	if len(w.made) == 0 {
		how = "successor"
	}

	known := rapid.Int64Range(a.since, max(a.since, w.position)).Draw(t, "known")
	switch how {
	case "successor":
		n := int64(len(w.made))
		a = attempt{Attempt: tasktoken.Attempt{Started: started(n * n)}, since: known}
	case "redrive":
		a.Redrives++
		a.Retries = 0
	case "next state":
		if w.position == a.since {
			t.Skip("the order has not moved")
		}
		a.since, a.Retries = rapid.Int64Range(a.since+1, w.position).Draw(t, "since"), 0
	case "visit":
		a.Visits++
		a.since, a.Retries = known, 0
	case "retry":
		a.Retries++
	}

	a.token = tasktoken.Token(fmt.Sprintf("token-%d", len(w.made)))
	w.made = append(w.made, a)

	if rapid.Bool().Draw(t, "late") {
		w.pending = append(w.pending, a)
		return
	}
	w.write(t, a)
}

// lateWrite lets one write arrive. It may arrive again.
func (w *rendezvous) lateWrite(t *rapid.T) {
	if len(w.pending) == 0 {
		t.Skip("no write is under way")
	}

	i := rapid.IntRange(0, len(w.pending)-1).Draw(t, "write")
	a := w.pending[i]
	if !rapid.Bool().Draw(t, "again later") {
		w.pending = append(w.pending[:i:i], w.pending[i+1:]...)
	}
	w.write(t, a)
}

func (w *rendezvous) write(t *rapid.T, a attempt) {
	parked, err := parkAs(w.db, w.orderID, "SHIPPED", a)
	if err != nil {
		t.Fatal(err)
	}

	newer := w.stored.Started != "" && compare(a, w.stored) < 0
	switch {
	case parked && newer:
		t.Fatalf("the write of %+v replaced that of %+v", a, w.stored)
	case parked && w.recorded > a.since:
		t.Fatalf("%+v was parked after transition %d", a, w.recorded)
	case !parked && !newer && w.recorded <= a.since:
		t.Fatalf("%+v was refused for no reason: the row has %+v and transition %d", a, w.stored, w.recorded)
	case parked:
		w.stored, w.kept = a, false
	default:
		w.learn(a.token)
	}
}

func (w *rendezvous) move(t *rapid.T) {
	w.position++
	if rapid.Bool().Draw(t, "interesting") {
		w.backlog = append(w.backlog, w.position)
	}
}

// react records the next move. The reaction may lag far behind the executions.
func (w *rendezvous) react(t *rapid.T) {
	if len(w.backlog) == 0 {
		t.Skip("nothing to record")
	}
	w.record(t, w.backlog[0])
	w.backlog = w.backlog[1:]
}

// repeat hands a reaction a change once more, as after a crash.
func (w *rendezvous) repeat(t *rapid.T) {
	if w.recorded == 0 {
		t.Skip("nothing was recorded")
	}
	w.record(t, rapid.Int64Range(1, w.recorded).Draw(t, "id"))
}

func (w *rendezvous) record(t *rapid.T, id int64) {
	row, waiting, err := w.store.Moved(bg(), w.orderID, id, "SHIPPED", expires)
	if err != nil {
		t.Fatal(err)
	}

	if id > w.recorded {
		w.recorded, w.kept = id, true
	}

	if row.Moved != w.recorded {
		t.Errorf("the row has transition %d, want %d", row.Moved, w.recorded)
	}

	if want := id == w.recorded && w.stored.token != "" && w.stored.since < id; waiting != want {
		t.Fatalf("transition %d: waiting %t, want %t; the row has %+v", id, waiting, want, w.stored)
	}

	if waiting {
		if row.Token != w.stored.token || row.Since != w.stored.since || row.Attempt != w.stored.Attempt {
			t.Fatalf("the reaction got %+v, the row has %+v", row, w.stored)
		}
		w.learn(row.Token)
	}
}

// remove takes the token away, as an operator does who completes the task.
func (w *rendezvous) remove(t *rapid.T) {
	if w.stored.token == "" {
		t.Skip("no token")
	}

	task := tasktoken.Task{OrderID: w.orderID, Awaited: "SHIPPED", Token: w.stored.token, Attempt: w.stored.Attempt}
	if err := w.store.Remove(bg(), task); err != nil {
		t.Fatal(err)
	}
	w.learn(w.stored.token)
	w.stored.token, w.kept = "", true
}

// check compares the row with what happened.
func (w *rendezvous) check(t *rapid.T) {
	out, err := w.db.GetItem(bg(), &dynamodb.GetItemInput{TableName: aws.String("parked"), Key: map[string]types.AttributeValue{
		"orderId": &types.AttributeValueMemberS{Value: w.orderID},
	}})
	if err != nil {
		t.Fatal(err)
	}

	if (w.recorded > 0 || w.stored.Started != "") && len(out.Item) == 0 {
		t.Fatal("the row is gone")
	}

	if _, expiring := out.Item[tasktoken.ExpiryAttribute]; expiring != w.kept {
		t.Fatalf("the row expires: %t, want %t", expiring, w.kept)
	}

	row, _, err := w.store.Get(bg(), w.orderID)
	if err != nil || row.Token != w.stored.token || row.Moved != w.recorded {
		t.Fatalf("row %+v, %v; want token %v and transition %d", row, err, w.stored.token, w.recorded)
	}

	tasks, err := w.store.Waiting(bg(), w.orderID)
	if waits := w.stored.token != "" && w.recorded <= w.stored.since; err != nil || (len(tasks) == 1) != waits {
		t.Fatalf("waiting %+v, %v; want one: %t", tasks, err, waits)
	}
}

// settle lets every write arrive, and the reaction record the order's last move. The newest
// attempt then knows of it.
func (w *rendezvous) settle() {
	for _, a := range w.pending {
		w.write(w.T, a)
	}

	w.position++
	for _, id := range append(w.backlog, w.position) {
		w.record(w.T, id)
	}

	if len(w.made) > 0 && !w.learned[w.made[len(w.made)-1].token] {
		w.Fatalf("nobody told %+v of transition %d", w.made[len(w.made)-1], w.position)
	}
}

// TestListLeavesOutAnsweredTasks: the rows of answered tasks stay in the table.
func TestListLeavesOutAnsweredTasks(t *testing.T) {
	store, db := open(t)
	for _, id := range []string{"waiting", "answered", "removed", "waits again"} {
		first := attempt{Attempt: tasktoken.Attempt{Started: started(1)}, since: 2, token: "t"}
		if ok, err := parkAs(db, id, "SHIPPED", first); err != nil || !ok {
			t.Fatal(ok, err)
		}

		if id == "answered" || id == "waits again" {
			if row, waits, err := store.Moved(t.Context(), id, 3, "SHIPPED", expires); err != nil || !waits || row.Awaited != "SHIPPED" || row.MovedTo != "SHIPPED" {
				t.Fatal(row, waits, err)
			}
		}

		if id == "removed" {
			if err := store.Remove(t.Context(), tasktoken.Task{OrderID: id, Awaited: "SHIPPED", Token: "t", Attempt: first.Attempt}); err != nil {
				t.Fatal(err)
			}
		}
	}

	again := attempt{Attempt: tasktoken.Attempt{Started: started(1), Visits: 1}, since: 3, token: "t"}
	if ok, err := parkAs(db, "waits again", "DELIVERED", again); err != nil || !ok {
		t.Fatal(ok, err)
	}

	found := map[string]tasktoken.Task{}
	for after := ""; ; {
		page, err := store.List(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}

		if len(page) == 0 {
			break
		}
		after = page[0].OrderID
		found[after] = page[0]
	}

	want := map[string]tasktoken.Task{
		"waiting":     {OrderID: "waiting", Awaited: "SHIPPED", Since: 2, Attempt: tasktoken.Attempt{Started: started(1)}},
		"waits again": {OrderID: "waits again", Awaited: "DELIVERED", Since: 3, Attempt: again.Attempt, Moved: 3, MovedTo: "SHIPPED"},
	}
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}
