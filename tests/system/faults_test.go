package system

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/faults"
	"ratchet/operate/erasure"
	"ratchet/streams"
	"ratchet/transitions"
)

// TestEveryCopyHasAnEndAfterFaults: while answers and requests are lost and writes are throttled, changes
// wait in the retry queue and become dead letters. Each row of theirs has an end from its first write on,
// and once all is handled an erasure finds every copy.
func TestEveryCopyHasAnEndAfterFaults(t *testing.T) {
	for _, every := range []int{5, 8} {
		t.Run(strconv.Itoa(every), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { afterFaults(t, every) })
		})
	}
}

// afterFaults lets one write in so many to the dead letters meet a fault.
func afterFaults(t *testing.T, every int) {
	t.Helper()

	waits := streams.Handler{Name: "waits", Handle: func(_ context.Context, r streams.Record) error {
		if time.Since(r.CreatedAt) < 30*time.Second {
			return errors.New("cannot reach " + person + "-handler yet")
		}

		return nil
	}}

	e := startWith(t, "", func(e *ended) {
		for n, fault := range []faults.Fault{
			faults.LoseAnswer(faults.Writes()...), faults.LoseRequest(faults.Writes()...), faults.Answer("ThrottlingException", faults.Writes()...),
		} {
			ofLetters := fault.If(func(c *faults.Call) bool { return strings.Contains(string(c.Body()), "dead-letters") })
			if _, err := e.Backend.Engine.Inject(ofLetters.EveryNth(every + n)); err != nil {
				t.Fatal(err)
			}
		}
	}, waits)

	queued := false
	for range 20 {
		queued = e.copiesEnd() || queued
		time.Sleep(3 * time.Second)
	}

	if !queued {
		t.Error("nothing has waited in the retry queue")
	}
	e.Backend.Engine.ClearFaults()
	settle()

	for n := 0; n < 5 && len(e.tables()) > 0; n++ {
		_, err := e.eraser().Erase(t.Context(), "o-1")
		if err != nil && !errors.Is(err, erasure.ErrHandlersWait) && !errors.Is(err, transitions.ErrNotEnded) {
			t.Fatal(err)
		}
		settle()
	}

	for table, items := range e.tables() {
		t.Errorf("table %s has %d items of the person, like %s", table, len(items), items[0])
	}
}

// copiesEnd checks that every row of the dead letters and the retry queues has an end, and reports whether
// a record waits.
func (e *ended) copiesEnd() (queued bool) {
	e.t.Helper()

	pages := dynamodb.NewScanPaginator(e.Backend.DynamoDB, &dynamodb.ScanInput{TableName: &e.Backend.Tables.DeadLetters})
	for pages.HasMorePages() {
		page, err := pages.NextPage(e.t.Context())
		if err != nil {
			e.t.Fatal(err)
		}

		for _, row := range page.Items {
			// A queue that was full says so for good, and says nothing else but the format of the row.
			if id, _ := row["id"].(*types.AttributeValueMemberS); id != nil && id.Value == "item/!spread" && row["format"] != nil && len(row) == 3 {
				continue
			}

			if row["expireAt"] == nil {
				e.t.Errorf("a row without an end: %s", textOf(e.t, row))
			}

			source, _ := row["source"].(*types.AttributeValueMemberS)
			queued = queued || strings.HasPrefix(source.Value, "retries/") && row["record"] != nil
		}
	}

	return queued
}
