package embedded

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/requests.txt
var completeRequests string

// complete is a request that the engine takes, with the members that go together.
type complete struct {
	api       *api
	operation string
	body      string
	// prepares are the names of what the answer has, with the paths to it.
	prepares map[string]string
}

// requester sends requests, and knows what was prepared for them.
type requester struct {
	f        *fixture
	handler  http.Handler
	prepared map[string]string
	sent     int
}

// readComplete reads testdata/requests.txt.
func (r *requester) readComplete() (all []complete) {
	apis := r.f.apis()
	byName := map[string]*api{"DynamoDB": &apis[0], "Streams": &apis[1], "States": &apis[2], "SQS": &apis[3]}

	for line := range strings.Lines(completeRequests) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}

		head, body, _ := strings.Cut(line, " {")
		if body == "" {
			name, value, _ := strings.Cut(line, " ")

			value, err := strconv.Unquote(value)
			if err != nil {
				r.f.t.Fatalf("%s: %v", line, err)
			}
			r.prepared[name] = value

			continue
		}

		words := strings.Fields(head)
		service, operation, _ := strings.Cut(words[len(words)-1], ".")
		c := complete{api: byName[service], operation: operation, body: "{" + body, prepares: map[string]string{}}

		for _, word := range words[:len(words)-1] {
			name, path, _ := strings.Cut(word, "=")
			c.prepares[name] = path
		}
		all = append(all, c)
	}

	return all
}

var preparedName = regexp.MustCompile(`\$[a-zA-Z]+`)

// text replaces the names and numbers of a body.
func (r *requester) text(body string) string {
	number := strconv.Itoa(r.sent)
	body = strings.NewReplacer(`-#"`, "-"+number+`"`, `"#"`, `"`+number+`"`).Replace(body)

	return preparedName.ReplaceAllStringFunc(body, func(name string) string {
		value, ok := r.prepared[name[1:]]
		if !ok {
			return name
		}

		return strings.Trim(strconv.Quote(value), `"`)
	})
}

// send sends a body and returns the answer. A call that waits for work is given up.
func (r *requester) send(c *complete, body string) (status int, answer string) {
	wait := time.Minute
	if c.operation == "GetActivityTask" || c.operation == "ReceiveMessage" {
		wait = 10 * time.Millisecond
	}

	ctx, cancel := context.WithTimeout(r.f.t.Context(), wait)
	defer cancel()

	r.sent++

	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://engine/", strings.NewReader(r.text(body)))
	request.Header["X-Amz-Target"] = []string{c.api.service.Target + "." + c.operation}

	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)

	if ctx.Err() != nil && w.Code >= http.StatusInternalServerError {
		return http.StatusOK, "{}"
	}

	return w.Code, w.Body.String()
}

// prepare sends a request until its answer has what the request prepares: executions take a moment.
func (r *requester) prepare(c *complete) {
	r.f.t.Helper()

	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		status, answer := r.send(c, c.body)

		var members any
		if err := json.Unmarshal([]byte(answer), &members); err != nil || status != http.StatusOK {
			r.f.t.Errorf("%s %s: %d %s", c.operation, r.text(c.body), status, answer)
			return
		}

		missing := false
		for name, path := range c.prepares {
			value := at(members, strings.Split(path, "."))
			r.prepared[name], missing = fmt.Sprint(value), missing || value == nil
		}

		if !missing {
			return
		}
	}
	r.f.t.Fatalf("%s does not answer with %v", c.operation, c.prepares)
}

// at returns what a path leads to, or nil.
func at(in any, path []string) any {
	for _, name := range path {
		switch v := in.(type) {
		case map[string]any:
			in = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return nil
			}
			in = v[i]
		default:
			return nil
		}
	}

	return in
}

// with returns a copy of a JSON value that has another value at the path, or none there if value is nil. A name
// of the path that the JSON has not is added. "key" stands for the name that a map has.
func with(in any, path []string, value json.RawMessage) any {
	if len(path) == 0 {
		return value
	}

	name := path[0]
	if list, ok := in.([]any); ok || name == "0" {
		list = slices.Clone(list)
		if len(list) == 0 {
			list = []any{nil}
		}

		if len(path) == 1 && value == nil {
			return list[1:]
		}
		list[0] = with(list[0], path[1:], value)

		return list
	}

	was, _ := in.(map[string]any)
	members := map[string]any{}
	maps.Copy(members, was)

	if name == "key" && len(members) > 0 {
		name = slices.Sorted(maps.Keys(members))[0]
	}

	if len(path) == 1 && value == nil {
		delete(members, name)
		return members
	}
	members[name] = with(members[name], path[1:], value)

	return members
}

// attributeValues are values of attributes, most of them none.
var attributeValues = []string{
	`{}`, `{"S":""}`, `{"S":"x"}`, `{"N":"x"}`, `{"N":""}`, `{"N":"1e999"}`, `{"N":"-7"}`, `{"N":"0.1234567890123456789012345678901234567891"}`, `{"B":"!"}`, `{"B":""}`, `{"S":"a","N":"1"}`,
	`{"M":{"":{"S":"x"}}}`, `{"L":[null]}`, `{"SS":[]}`, `{"SS":["a","a"]}`, `{"NS":["1","1.0"]}`, `{"BS":["AA=","AA=="]}`, `{"NULL":false}`, `{"NULL":null}`, `{"X":"x"}`, `{"BOOL":null}`,
	strings.Repeat(`{"L":[`, 40) + strings.Repeat(`]}`, 40),
}

// values returns what is put in the place of a member.
func (s *spot) values(was any) []string {
	values := []string{"null", "{}", "[]", `"x"`, "7", "true"}

	switch s.kind.Kind() {
	case reflect.String:
		values = append(values, `""`, `"`+strings.Repeat("x", 300)+`"`, `"`+strings.Repeat("x", 70_000)+`"`, `"\u0000"`, `"\ud800"`, `" "`, `"ü"`, `"-1"`, `"1e400"`, `"$"`, `"$."`, `"arn:aws:x"`,
			`"arn:aws:states:us-east-1:000000000000:stateMachine:"`, `"arn:aws:states:us-east-1:000000000000:execution:m:x:y"`,
			`"arn:aws:sqs:us-east-1:000000000000:none"`, `"arn:aws:dynamodb:us-east-1:000000000000:table/"`, `"http://x/0/none"`, `"http://[::1"`,
			`"{"`, `"["`, `"[7]"`, `"{}"`, `"{\"a\":}"`, `"{\"a\":1,\"a\":2}"`, `"{\"StartAt\":7,\"States\":[]}"`, `"{\"Type\":\"Task\"}"`, `"(((((((("`, `"a = :b"`, `"SELECT"`, `"#"`, `"%"`, `"AAAA"`)
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		values = append(values, "-1", "0", "1", "1.5", "1e3", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e400")
	case reflect.Slice:
		values = append(values, "[null]", "[[]]", "[{}]", "["+strings.Repeat("null,", 300)+"null]", `"AA="`)

		if list, ok := was.([]any); ok && len(list) > 0 {
			one, _ := json.Marshal(list[0]) //nolint:errchkjson // was read from JSON
			values = append(values, "["+string(one)+","+string(one)+"]", "["+strings.Repeat(string(one)+",", 150)+string(one)+"]")
		}
	case reflect.Map:
		values = append(values, `{"":null}`, `{"x":null}`, `{"x":{}}`, `{"x":[]}`, `{"x":"x"}`, `{"`+strings.Repeat("x", 70_000)+`":{}}`, `{"orders":[null]}`, `{"orders":{"Keys":[null]}}`, `{":x":{"S":"x"}}`, `{"#x":"x"}`)
	case reflect.Interface:
		values = append(values, attributeValues...)
	case reflect.Struct:
		if s.kind == reflect.TypeFor[time.Time]() {
			values = append(values, "-1", "1e300", "-1e300", "9223372036854775808", "1.5")
		}
	}

	return values
}

// moreGoWords are in answers that come from Go in the depth of the engine.
var moreGoWords = []string{
	"interface conversion", "nil pointer", "goroutine", "reflect:", "reflect.", ".go:", "index out of range", "slice bounds", "jsontext", "[]string", "*string", "struct {", "<nil>", "(MISSING)",
	"invalid UTF-8", "regexp", "ratchet/", "context canceled", "deadline exceeded", "pebble", "x509", "net/http", "invalid syntax", "value out of range", "%v", "%s", "%q",
}

// TestEachMemberOfACompleteRequest changes a request that the engine takes in one member: without it, null, of another
// type, empty, too long, at the bounds of its type, of a form that a parser below refuses. Each member of the API model
// is put into each request. Every answer is the service's: no error of the engine, and no word of Go.
func TestEachMemberOfACompleteRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("one client, and many bodies")
	}

	f := open(t)
	r := &requester{f: f, handler: f.Handler(), prepared: map[string]string{}}
	seen := map[string]bool{}

	for _, c := range r.readComplete() {
		r.prepare(&c)

		if len(c.prepares) > 0 {
			continue
		}
		seen[c.api.service.Target+"."+c.operation] = true

		var whole any
		if err := json.Unmarshal([]byte(c.body), &whole); err != nil {
			t.Fatal(err)
		}

		for _, s := range c.api.spots(c.api.input(c.operation), nil, nil) {
			was := at(whole, s.path)
			if was != nil {
				r.refused(&c, with(whole, s.path, nil))
			}

			for _, value := range s.values(was) {
				r.refused(&c, with(whole, s.path, json.RawMessage(value)))
			}
		}
	}

	for _, a := range f.apis() {
		for operation := range a.service.Operations {
			if !seen[a.service.Target+"."+operation] {
				t.Errorf("testdata/requests.txt has no request of %s", operation)
			}
		}
	}
}

// refused sends a request that may be refused, in the service's words.
func (r *requester) refused(c *complete, body any) {
	r.f.t.Helper()

	raw, err := json.Marshal(body)
	if err != nil {
		r.f.t.Fatal(err)
	}

	status, answer := r.send(c, string(raw))
	if status >= http.StatusInternalServerError {
		r.f.t.Errorf("%s %.300s: %d %s", c.operation, raw, status, answer)
	}

	if status == http.StatusOK {
		return
	}

	// DynamoDB has these words itself.
	said := strings.NewReplacer(cast, "", "<EOF>", "", `\u003cEOF\u003e`, "").Replace(answer)

	// The request has these, too, and a receipt handle may look like anything.
	for _, value := range r.prepared {
		if value != "" {
			said = strings.ReplaceAll(said, value, "")
		}
	}

	for _, word := range slices.Concat(goWords, moreGoWords) {
		if strings.Contains(said, word) && !strings.Contains(string(raw), word) {
			r.f.t.Errorf("%s %.300s: %q in %.400s", c.operation, raw, word, answer)
		}
	}
}
