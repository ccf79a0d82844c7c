package crash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratchet/tests/program"
)

// grace is how long a stop may take: the API lets requests run on for 10 s, the engine for 5 s, and both at the same
// time. The rest is for a machine that is busy with other tests.
const grace = 45 * time.Second

// banner is the first line of `ratchet dev --json`.
type banner struct{ Endpoint, API, Admin string }

// TestTheProcessEndsWithinItsGrace whatever runs in it: evaluations that want much, an event stream, polls that wait, a
// profile, and requests of which half the body has come. Its exit status is 0.
func TestTheProcessEndsWithinItsGrace(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	running := program.Process{
		Bin: program.Self(t, "ratchet"), Dir: dir, Name: "dev",
		Args: []string{"dev", "--json", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--api-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
	}.Start(t)

	var at banner
	if line := running.FirstLine(t); json.Unmarshal([]byte(line), &at) != nil || at.Admin == "" {
		t.Fatalf("the first line: %s", line)
	}

	b := busy{t, at, make(chan string, 100)}
	n := b.bombs() + b.watch() + b.polls() + b.halfBodies()

	for range n {
		select {
		case what := <-b.begun:
			t.Log(what)
		case <-time.After(time.Minute):
			t.Fatal("not everything has begun")
		}
	}

	began := time.Now()
	running.Stop(t)

	took := time.Since(began)
	t.Logf("it ended within %v", took.Round(time.Millisecond))

	if took > grace {
		t.Errorf("it ended after %v", took)
	}
}

// busy keeps a process busy. Each method returns how many sides of it write to begun.
type busy struct {
	t     *testing.T
	at    banner
	begun chan string
}

// send sends a request in the background, whose answer may never come.
func (b busy) send(what, method, url, target, body string) {
	r, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "wait=15")

	go func() {
		b.begun <- what

		if answer, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}()
}

// do sends a request to the API, which must succeed.
func (b busy) do(method, path, body string) {
	b.t.Helper()

	if status, text := b.ask(method, b.at.API+path, body); status >= http.StatusBadRequest {
		b.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// ask sends a request and waits for its answer.
func (b busy) ask(method, url, body string) (status int, text string) {
	b.t.Helper()

	r, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Ratchet-Reason", "test")

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()

	all, _ := io.ReadAll(answer.Body)

	return answer.StatusCode, string(all)
}

// until waits until it is true.
func (b busy) until(what string, is func() bool) {
	b.t.Helper()

	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			b.t.Fatalf("not reached: %s", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// bombs are evaluations of quadratic cost, more than have places.
func (b busy) bombs() int {
	var numbers strings.Builder
	for i := range 17_000 {
		fmt.Fprintf(&numbers, `,{"b":%d}`, i)
	}
	input := `{"a":[` + numbers.String()[1:] + `]}`

	const each = 8
	for _, definition := range []string{
		`{"Type":"Pass","Parameters":{"x.$":"$.a[?(@.b == $.a[16999].b)]"},"End":true}`,
		`{"Type":"Pass","QueryLanguage":"JSONata","Output":"{% $count($states.input.a[$count($states.input.a[b > 3]) > 7]) %}","End":true}`,
	} {
		request, _ := json.Marshal(map[string]any{"definition": definition, "input": input, "roleArn": "arn:aws:iam::000000000000:role/x"})
		for range each {
			b.send("a bomb", http.MethodPost, b.at.Endpoint+"/", "AWSStepFunctions.TestState", string(request))
		}
	}

	return 2 * each
}

// watch follows an order.
func (b busy) watch() int {
	b.do(http.MethodPut, "/v1/orders/o-1", `{"items":[],"total":{"amount":5,"currency":"EUR"}}`)
	b.send("an event stream", http.MethodGet, b.at.API+"/v1/orders/o-1/events", "", "")

	return 1
}

// polls wait for a task, for messages of a claim that another caller holds, and for a profile.
func (b busy) polls() int {
	b.do(http.MethodPost, "/v1/claims/held", `{}`)
	b.send("a poll of a claim", http.MethodPost, b.at.API+"/v1/claims/held", "", `{}`)
	b.send("a profile", http.MethodGet, b.at.Admin+"/debug/pprof/profile?seconds=60", "", "")

	return 2
}

// halfBodies are requests whose bodies do not go on.
func (b busy) halfBodies() int {
	n := 0
	for _, to := range []struct{ url, request string }{
		{b.at.Endpoint, "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"},
		{b.at.API, "PUT /v1/orders/o-2 HTTP/1.1\r\nContent-Type: application/json\r\n"},
		{b.at.Admin, "POST /metrics HTTP/1.1\r\n"},
	} {
		for _, end := range []string{"Content-Length: 1000\r\n\r\n{", ""} { // half a body, half a header
			n++

			address := strings.TrimPrefix(to.url, "http://")

			conn, err := (&net.Dialer{}).DialContext(b.t.Context(), "tcp", address)
			if err != nil {
				b.t.Fatal(err)
			}
			b.t.Cleanup(func() { _ = conn.Close() })

			if _, err := io.WriteString(conn, to.request+"Host: "+address+"\r\n"+end); err != nil {
				b.t.Fatal(err)
			}

			go func() {
				b.begun <- "half a request to " + address
				_, _ = bufio.NewReader(conn).ReadString('\n') // ends with the connection
			}()
		}
	}

	return n
}
