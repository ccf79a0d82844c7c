package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/operate/doctor"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

// TestLostDueRowsAreNoticedAndWrittenAgain: the doctor warns of orders and of requests for later that have no due row, and both the
// command of its advice and the repair of restored tables write them.
func TestLostDueRowsAreNoticedAndWrittenAgain(t *testing.T) {
	p := newPatient(t, func(c *server.Config) { c.ExpireUnpaid = time.Hour })

	_, err := p.Scheduled.Place(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "later"}, time.Now().Add(time.Hour))
	p.must(err)
	_, err = p.RebuildDueRows(t.Context(), nil, nil)
	p.must(err)

	warned := func() (subjects string) {
		t.Helper()

		for _, c := range p.Examine(t.Context()) {
			if strings.Contains(c.Action, "rebuild-timers") && c.Result == doctor.Warning {
				subjects += c.Subject + ";"
			}
		}

		return subjects
	}
	lose := func() {
		t.Helper()

		out, err := p.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{TableName: &p.Tables.OrdersDue})
		p.must(err)

		for _, item := range out.Items {
			key := dynamo.Item{"shard": item["shard"], "due": item["due"]}
			_, err := p.DynamoDB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &p.Tables.OrdersDue, Key: key})
			p.must(err)
		}
	}

	if got := warned(); got != "" {
		t.Errorf("with all rows: %s", got)
	}

	for name, mend := range map[string]func() (server.DueRows, error){
		"rebuild": func() (server.DueRows, error) { return p.RebuildDueRows(t.Context(), nil, nil) },
		"restored": func() (server.DueRows, error) {
			_, err := p.Restored(t.Context(), server.Restoration{Earliest: time.Now()})
			return server.DueRows{Rebuilt: timers.Rebuilt{Orders: 1, Timers: 1}, Scheduled: 1}, err
		},
	} {
		lose()

		if got := warned(); got != "timed transitions;requests for later;" {
			t.Errorf("%s: without rows: %s", name, got)
		}

		if found, err := mend(); err != nil || found.Orders != 1 || found.Timers != 1 || found.Scheduled != 1 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}

		if got := warned(); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
