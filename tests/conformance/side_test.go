//go:build conformance

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// side is one of the two that are compared. DynamoDB Local keeps the data of every access key
// apart.
type side struct {
	name, url, accessKey string
	http                 *http.Client
}

// answer is one side's answer to one request.
type answer struct {
	status int
	body   map[string]any
	raw    string
}

// call sends a request as an SDK would, but unchecked.
func (s *side) call(operation, body string) (answer, error) {
	target := "DynamoDB_20120810."
	switch operation {
	case "ListStreams", "DescribeStream", "GetShardIterator", "GetRecords":
		target = "DynamoDBStreams_20120810."
	}

	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", target+operation)
	r.Header.Set("X-Amz-Date", "20260101T000000Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.accessKey+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")

	resp, err := s.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()

	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: resp.StatusCode, raw: string(raw)}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()

	if err := d.Decode(&a.body); err != nil {
		return a, fmt.Errorf("%s answers %s with no JSON object: %q: %w", s.name, operation, raw, err)
	}

	return a, nil
}

// line is the answer as it is compared: one line of text, without what is another
// with every call.
func (a answer) line(operation string) string {
	if a.status != http.StatusOK {
		body := maps.Clone(a.body)
		typ, _ := body["__type"].(string)
		message, ok := body["message"].(string)
		if !ok {
			message, _ = body["Message"].(string)
		}

		for _, key := range []string{"__type", "message", "Message"} {
			delete(body, key)
		}
		_, name, _ := strings.Cut(typ, "#")
		// Some regions of the service put this before a message, others do not
		// (https://github.com/paritysuite/dynamodb-conformance, captures).
		message = strings.TrimPrefix(message, "1 validation error detected: ")

		line := fmt.Sprintf("%d %s: %s", a.status, name, sortBraces(message))
		if len(body) > 0 {
			line += " " + text(normal("", body))
		}

		return line
	}

	body := normal("", a.body)
	switch operation {
	case "Scan":
		sortList(body.(map[string]any), "Items")
	case "BatchGetItem":
		responses, _ := body.(map[string]any)["Responses"].(map[string]any)
		for table := range responses {
			sortList(responses, table)
		}
	}

	return "200 " + text(body)
}

func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)

	if err := e.Encode(v); err != nil {
		return err.Error()
	}

	return strings.TrimSpace(b.String())
}

func sortList(m map[string]any, key string) {
	if list, ok := m[key].([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	}
}

// passing are the members whose values are another with every call; that they are
// there is compared, and their JSON type.
var passing = map[string]bool{
	"TableArn": true, "TableId": true, "CreationDateTime": true, "LatestStreamArn": true, "LatestStreamLabel": true,
	"StreamArn": true, "StreamLabel": true, "CreationRequestDateTime": true, "ShardId": true, "StartingSequenceNumber": true,
	"EndingSequenceNumber": true, "SequenceNumber": true, "eventID": true, "ApproximateCreationDateTime": true,
	"ShardIterator": true, "NextShardIterator": true, "awsRegion": true,
	"LastUpdateToPayPerRequestDateTime": true, "LastUpdateDateTime": true, "LastEvaluatedShardId": true,
	"NextToken": true,
	// The engine counts bytes at once, DynamoDB every six hours.
	"TableSizeBytes": true,
}

// onOneSide are members that only one side sends, without a meaning for callers: the
// service gives a TableId and a WarmThroughput, DynamoDB Local does not; DynamoDB Local gives a new table
// the times of increases that have not happened, the service does not.
var onOneSide = map[string]bool{"TableId": true, "WarmThroughput": true, "LastIncreaseDateTime": true, "LastDecreaseDateTime": true}

// normal rewrites an answer so that equal answers are equal texts.
func normal(key string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = normal(k, e)
		}

		for k := range onOneSide {
			delete(x, k)
		}

		return x
	case []any:
		for n := range x {
			x[n] = normal("", x[n])
		}

		switch key {
		case "SS", "NS", "BS", "AttributeDefinitions", "Tags", "TableNames", "ConsumedCapacity":
			sortList(map[string]any{key: x}, key)
		}

		return x
	default:
		if passing[key] {
			return fmt.Sprintf("<%T>", v)
		}
		return v
	}
}

// sortBraces orders the words of {a, b}: they come out of a Java hash set.
func sortBraces(message string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(message, "{")
		b.WriteString(before)

		inner, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			if ok {
				b.WriteString("{" + rest)
			}
			return b.String()
		}

		words := strings.Split(inner, ",")
		for n := range words {
			words[n] = strings.TrimSpace(words[n])
		}
		slices.Sort(words)
		b.WriteString("{" + strings.Join(words, ", ") + "}")
		message = after
	}
}
