package embedded

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/embedded/faults"
)

func withFaultAdmin(c *Config) { c.FaultAdmin = true }

// admin sends an operation of the engine itself and returns the status and the answer as text.
func (f *fixture) admin(client *http.Client, url, operation, body string) (int, string) {
	f.t.Helper()

	token, err := Token(f.cfg.Dir)
	if err != nil {
		f.t.Fatal(err)
	}

	status, answer := postWith(f.t, client, url, http.Header{"X-Amz-Target": {"RatchetEngine_20261121." + operation}, TokenHeader: {token}}, body)

	raw, err := json.Marshal(answer)
	if err != nil {
		f.t.Fatal(err)
	}

	return status, string(raw)
}

func TestAStalledShardShowsNoRecords(t *testing.T) {
	f := open(t)
	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	shard := f.shards(arn)[0].ShardId

	resume, err := f.StallShard(t.Context(), arn, *shard)
	if err != nil {
		t.Fatal(err)
	}

	hints, stop, err := f.WatchStream(arn)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	f.put("orders", item{"id": str("o-1")})
	<-hints

	records, next := f.records(f.iterator(arn, shard, "TRIM_HORIZON", nil))
	if len(records) != 0 || next == nil {
		t.Errorf("stalled: %d records, next iterator %v", len(records), next)
	}

	resume()
	<-hints

	if records, _ = f.records(next); len(records) != 1 {
		t.Errorf("resumed: %d records, want 1", len(records))
	}

	if _, err := f.StallShard(t.Context(), arn, "none"); err == nil {
		t.Error("a shard that does not exist is stalled")
	}
}

func TestAStreamIsReplaced(t *testing.T) {
	f := open(t)
	old := *f.table("orders", "id", "", types.StreamViewTypeNewImage).LatestStreamArn
	f.put("orders", item{"id": str("o-1")})

	if err := f.ReplaceStream(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	f.put("orders", item{"id": str("o-2")})

	table := f.describe("orders")
	arn, view := *table.LatestStreamArn, table.StreamSpecification.StreamViewType

	if arn == old || view != types.StreamViewTypeNewImage {
		t.Errorf("the new stream is %s with view %s, the old one %s", arn, view, old)
	}

	for _, stream := range []struct{ arn, id string }{{old, "o-1"}, {arn, "o-2"}} {
		var ids []string
		f.readForest(stream.arn, func(r stypes.Record) {
			ids = append(ids, r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value)
		})
		expect(t, stream.arn, strings.Join(ids, " "), stream.id)
	}

	f.table("plain", "id", "", "")

	if err := f.ReplaceStream(t.Context(), "plain"); err == nil {
		t.Error("a stream that does not exist is replaced")
	}
}

func TestFaultsAreInjectedOverTheWire(t *testing.T) {
	f := open(t, withFaultAdmin)
	f.table("orders", "id", "", types.StreamViewTypeKeysOnly)
	server := httptest.NewServer(f.Handler())
	t.Cleanup(server.Close)

	send := func(operation, body string) (int, string) {
		return f.admin(server.Client(), server.URL, operation, body)
	}

	fault := `{"On":["UpdateItem"],"Every":2,"Error":"ThrottlingException","Message":"slow down"}`
	if status, answer := send("InjectFault", fault); status != http.StatusOK {
		t.Fatalf("inject: %d %s", status, answer)
	}

	_, answer := send("ListFaults", `{}`)
	expect(t, "the list", answer, `{"Faults":[{"Fault":{"Error":"ThrottlingException","Every":2,"Message":"slow down","On":["UpdateItem"]},"Strikes":0}]}`)

	update := func() int {
		status, _ := post(t, server.Client(), server.URL, "DynamoDB_20120810.UpdateItem", `{"TableName":"orders","Key":{"id":{"S":"o-1"}}}`)
		return status
	}
	if first, second := update(), update(); first != http.StatusOK || second != http.StatusBadRequest {
		t.Errorf("the first update has status %d, the second %d", first, second)
	}

	send("ClearFaults", ``)

	if first, second := update(), update(); first != http.StatusOK || second != http.StatusOK {
		t.Errorf("after the end: status %d and %d", first, second)
	}

	for _, bad := range []struct{ operation, body, want string }{
		{"InjectFault", `{"Om":["UpdateItem"]}`, "Om"},
		{"InjectFault", `{"On":["UpdateItem"]}`, "a fault needs a Delay or an error"},
		{"InjectFault", `{"Error":"Lost","Probability":7}`, "Probability must be 0 to 1"},
		{"ShiftClock", `{}`, "millis"},
		{"StallShard", `{"StreamArn":"x"}`, "shardId"},
		{"ReplaceStream", `{}`, "tableName"},
	} {
		if status, answer := send(bad.operation, bad.body); status != http.StatusBadRequest || !strings.Contains(answer, bad.want) {
			t.Errorf("%s %s: %d %s, want %s", bad.operation, bad.body, status, answer, bad.want)
		}
	}

	for _, good := range []struct{ operation, body string }{
		{"ShiftClock", `{"Millis":3600000}`},
		{"ShiftClock", `{"Millis":3600000,"Machine":true}`},
		{"ReplaceStream", `{"TableName":"orders"}`},
	} {
		if status, answer := send(good.operation, good.body); status != http.StatusOK {
			t.Errorf("%s: %d %s", good.operation, status, answer)
		}
	}
}

func TestFaultsOverTheWireAreOffByDefault(t *testing.T) {
	off := open(t)
	for _, operation := range []string{"InjectFault", "ListFaults", "ClearFaults", "ShiftClock", "StallShard", "ReplaceStream"} {
		if status, answer := off.admin(off.HTTPClient(), "http://engine", operation, `{}`); status != http.StatusBadRequest || !strings.Contains(answer, "AccessDenied") {
			t.Errorf("off: %s: %d %s", operation, status, answer)
		}
	}
}

func TestAFaultIsTheSameAfterItsJSON(t *testing.T) {
	for _, f := range append(faults.StepFunctionsQuotas("eu-central-1"),
		faults.LoseToken(), faults.Conflict("PutItem"), faults.LoseRequest().From(3), faults.Delay(1e9, "Scan").WithProbability(0.5, 7)) {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}

		var again faults.Fault
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatal(err)
		}

		second, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}

		if err := again.Check(); err != nil || string(second) != string(raw) {
			t.Errorf("%s became %s: %v", raw, second, err)
		}
	}
}
