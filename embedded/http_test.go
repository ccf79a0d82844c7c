package embedded

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// send sends a request to the engine and returns the answer as it is on the wire.
func (f *fixture) send(method, url string, header map[string]string, body string) *httptest.ResponseRecorder {
	f.t.Helper()

	r := httptest.NewRequestWithContext(f.t.Context(), method, url, strings.NewReader(body))
	for name, value := range header {
		r.Header.Set(name, value)
	}

	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)

	return w
}

// TestAddressesAreTheCallers: URLs of queues and the endpoints of DynamoDB have the host and the scheme under
// which the caller has reached the engine.
func TestAddressesAreTheCallers(t *testing.T) {
	f := open(t)
	server := httptest.NewServer(f.Handler())
	defer server.Close()

	queues := sqs.NewFromConfig(overHTTP(server))

	made, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	if err != nil {
		t.Fatal(err)
	}

	got, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
	if err != nil {
		t.Fatal(err)
	}

	list, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		t.Fatal(err)
	}

	for _, url := range []string{*made.QueueUrl, *got.QueueUrl, list.QueueUrls[0]} {
		same(t, "URL", url, server.URL+"/000000000000/q")
	}

	endpoints, err := dynamodb.NewFromConfig(overHTTP(server)).DescribeEndpoints(t.Context(), &dynamodb.DescribeEndpointsInput{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "endpoint", *endpoints.Endpoints[0].Address, strings.TrimPrefix(server.URL, "http://"))

	w := f.send(http.MethodPost, "https://queues.example:444/", map[string]string{"X-Amz-Target": "AmazonSQS.GetQueueUrl"}, `{"QueueName":"q"}`)
	same(t, "URL under TLS", w.Body.String(), `{"QueueUrl":"https://queues.example:444/000000000000/q"}`)

	w = f.send(http.MethodPost, "http://queues.example/", map[string]string{"X-Amz-Target": "AmazonSQS.GetQueueUrl", "X-Forwarded-Proto": "https"}, `{"QueueName":"q"}`)
	same(t, "URL behind a proxy", w.Body.String(), `{"QueueUrl":"https://queues.example/000000000000/q"}`)
}

// TestHealthy: GET / answers as the service does, and no other path does.
// Source: https://github.com/architect/dynalite test/connection.js
func TestHealthy(t *testing.T) {
	f := open(t)

	w := f.send(http.MethodGet, "http://dynamodb.us-east-1.amazonaws.com/", nil, "")
	same(t, "GET /", strconv.Itoa(w.Code)+" "+w.Body.String(), "200 healthy: dynamodb.us-east-1.amazonaws.com ")

	for _, path := range []string{"/health", "/000000000000/q"} {
		if w := f.send(http.MethodGet, "http://localhost"+path, nil, ""); w.Code != http.StatusBadRequest {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()

	var b bytes.Buffer

	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

// TestCompressedRequests: the limit counts the text of a body, and a broken body is the caller's fault.
func TestCompressedRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many bytes")
	}

	f := open(t)
	f.table("orders", "id", "", "")
	header := map[string]string{"X-Amz-Target": "DynamoDB_20120810.DescribeTable", "Content-Encoding": "gzip"}

	const large = 16<<20 + 1

	for _, row := range []struct {
		is, body string
		status   int
	}{
		{"a request", zipped(t, `{"TableName":"orders"}`), http.StatusOK},
		{"no gzip", `{"TableName":"orders"}`, http.StatusBadRequest},
		{"a part", zipped(t, `{"TableName":"orders"}`)[:20], http.StatusBadRequest},
		{"16 MB of a small body", zipped(t, strings.Repeat(" ", large)), http.StatusRequestEntityTooLarge},
	} {
		if w := f.send(http.MethodPost, "http://engine/", header, row.body); w.Code != row.status || row.status != http.StatusOK && !strings.Contains(w.Body.String(), "#SerializationException") {
			t.Errorf("%s: %d %.200s", row.is, w.Code, w.Body)
		}
	}
}

// TestCompressedAnswers: callers that accept gzip get large answers compressed, with the checksum of the
// compressed bytes, as the AWS SDK for Java expects it (calculateCrc32FromCompressedData).
func TestCompressedAnswers(t *testing.T) {
	f := open(t)
	f.table("orders", "id", "", "")
	f.put("orders", item{"id": str("o-1"), "v": str(strings.Repeat("x", 5000))})

	scan := func(accept string) *httptest.ResponseRecorder {
		return f.send(http.MethodPost, "http://engine/", map[string]string{"X-Amz-Target": "DynamoDB_20120810.Scan", "Accept-Encoding": accept}, `{"TableName":"orders"}`)
	}
	plain := scan("identity")

	for accept, zipped := range map[string]bool{"identity": false, "": false, "gzip": true, "deflate, gzip;q=1.0": true, "gzip;q=0.0": false, "br": false} {
		w := scan(accept)
		same(t, accept, w.Header().Get("X-Amz-Crc32"), strconv.FormatUint(uint64(crc32.ChecksumIEEE(w.Body.Bytes())), 10))

		text := w.Body.String()
		if zipped {
			same(t, accept, w.Header().Get("Content-Encoding"), "gzip")

			r, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}

			raw, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		same(t, accept, text, plain.Body.String())
	}

	small := f.send(http.MethodPost, "http://engine/", map[string]string{"X-Amz-Target": "DynamoDB_20120810.ListTables", "Accept-Encoding": "gzip"}, `{}`)
	if !json.Valid(small.Body.Bytes()) {
		t.Errorf("a small answer is compressed: %q", small.Body)
	}
}

// TestTheQueryProtocolIsRefusedInXML: SDKs of SQS before November 2023, of STS and of SNS read XML.
func TestTheQueryProtocolIsRefusedInXML(t *testing.T) {
	f := open(t)
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}

	for _, row := range []struct{ is, method, url, body, want string }{
		{"SQS", http.MethodPost, "http://engine/", "Action=ListQueues&Version=2012-11-05", "Query protocol of SQS"},
		{"SQS by GET", http.MethodGet, "http://engine/?Action=ListQueues&Version=2012-11-05", "", "Query protocol of SQS"},
		{"STS", http.MethodPost, "http://engine/", "Action=GetCallerIdentity&Version=2011-06-15", "STS is not a part of the embedded engine"},
		{"SNS", http.MethodPost, "http://engine/", "Action=Publish&Version=2010-03-31&Message=<&", "SNS is not a part of the embedded engine"},
		{"another service", http.MethodPost, "http://engine/", "Action=RunInstances&Version=2016-11-15", "no service with the action RunInstances"},
	} {
		w := f.send(row.method, row.url, form, row.body)

		var answer struct {
			XMLName   xml.Name
			Error     struct{ Type, Code, Message string }
			RequestID string `xml:"RequestId"`
		}
		if err := xml.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v in %s", row.is, err, w.Body)
		}

		if w.Code != http.StatusBadRequest || answer.XMLName.Local != "ErrorResponse" || answer.Error.Code != "InvalidAction" || answer.RequestID == "" || !strings.Contains(answer.Error.Message, row.want) {
			t.Errorf("%s: %d %s", row.is, w.Code, w.Body)
		}
	}
}

// TestAHostWithAPrefix: SDKs put sync- before the host of StartSyncExecution and TestState.
func TestAHostWithAPrefix(t *testing.T) {
	f := open(t)
	steps := sfn.NewFromConfig(f.AWSConfig())
	definition := aws.String(`{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}`)

	m, err := steps.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String("m"), Definition: definition, RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Type: types.StateMachineTypeExpress})
	if err != nil {
		t.Fatal(err)
	}

	w := f.send(http.MethodPost, "http://sync-states.example/", map[string]string{"X-Amz-Target": "AWSStepFunctions.StartSyncExecution"}, `{"stateMachineArn":"`+*m.StateMachineArn+`","input":"7"}`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"output":"7"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
