package dynamodb

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

const (
	plainTable = `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` +
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`
	addIndex = `"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":` +
		`{"IndexName":"by-k","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]`
	scanIndex = `{"TableName":"items","IndexName":"by-k","Select":"COUNT"}`
)

// leave sends a request whose caller leaves at once.
func leave(t *testing.T, s *Service, operation, body string) {
	t.Helper()

	gone, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := s.Wire().Operations[operation](gone, []byte(body)); err == nil {
		t.Fatalf("%s was not interrupted", operation)
	}
}

// A caller who leaves while an index or the expiries are built does not stop the build for good: Run
// finishes it.
func TestRunFinishesWhatACallerLeft(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)
	mustAnswer(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"a"},"k":{"S":"x"},"at":{"N":"99999999999"}}}`)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	// Run has taken the first when there is room for the second.
	s.unfinished <- struct{}{}
	s.unfinished <- struct{}{}

	for _, row := range []struct{ operation, body, describe, want string }{
		{"UpdateTable", `{"TableName":"items",` + addIndex + `}`, "DescribeTable", `"IndexStatus":"ACTIVE","ItemCount":1`},
		{"UpdateTimeToLive", `{"TableName":"items","TimeToLiveSpecification":{"AttributeName":"at","Enabled":true}}`,
			"DescribeTimeToLive", `"TimeToLiveStatus":"ENABLED"`},
	} {
		for len(s.unfinished) > 0 {
			runtime.Gosched()
		}
		leave(t, s, row.operation, row.body)

		for !strings.Contains(mustAnswer(t, s, row.describe, `{"TableName":"items"}`), row.want) {
			runtime.Gosched()
		}
	}

	if got := mustAnswer(t, s, "Scan", scanIndex); got != `{"Count":1,"ScannedCount":1}` {
		t.Errorf("the index has %s", got)
	}
	cancel()

	if err := <-ended; err != nil {
		t.Error(err)
	}
}
