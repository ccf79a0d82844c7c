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
	deleteIndex = `"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-k"}}]`
	scanIndex   = `{"TableName":"items","IndexName":"by-k","Select":"COUNT"}`
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

// One UpdateTable can switch the stream and change an index: each is as if it came alone.
func TestAStreamAndAnIndexInOneUpdate(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)
	mustAnswer(t, s, "PutItem", `{"TableName":"items","Item":{"id":{"S":"a"},"k":{"S":"x"}}}`)

	got := mustAnswer(t, s, "UpdateTable", `{"TableName":"items","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},`+addIndex+`}`)
	for _, part := range []string{`"IndexStatus":"ACTIVE"`, `"ItemCount":1,"KeySchema":[{"AttributeName":"k"`, `"StreamViewType":"KEYS_ONLY"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is missing in %s", part, got)
		}
	}

	if got := mustAnswer(t, s, "Scan", scanIndex); got != `{"Count":1,"ScannedCount":1}` {
		t.Errorf("the index has %s", got)
	}

	got = mustAnswer(t, s, "UpdateTable", `{"TableName":"items","StreamSpecification":{"StreamEnabled":false},`+deleteIndex+`}`)
	if strings.Contains(got, "by-k") || strings.Contains(got, "KEYS_ONLY") {
		t.Errorf("after the deletion of both: %s", got)
	}

	if n := entries(t, s); n != 0 {
		t.Errorf("%d entries after the deletion of the index", n)
	}
}

// A fault of one of the two changes leaves the other undone.
func TestAnUpdateOfAStreamAndAnIndexIsAllOrNothing(t *testing.T) {
	s, stop := openService(t, t.TempDir())
	defer stop()

	mustAnswer(t, s, "CreateTable", plainTable)

	for _, row := range []struct{ body, want string }{
		{`"StreamSpecification":{"StreamEnabled":false},` + addIndex, invalidOrder + "Table has no enabled stream: TableName: items"},
		{`"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},` + deleteIndex, "ResourceNotFoundException: Requested resource not found"},
	} {
		if got := request(t, s, "UpdateTable", `{"TableName":"items",`+row.body+`}`); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.body, got, row.want)
		}

		if got := mustAnswer(t, s, "DescribeTable", `{"TableName":"items"}`); strings.Contains(got, "by-k") || strings.Contains(got, "Stream") {
			t.Errorf("%s left %s", row.body, got)
		}
	}
}
