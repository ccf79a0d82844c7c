package activities

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/embedded/embeddedtest"
)

// script stands in for the service where a test needs answers that the engine does not
// give, at times that only synctest can measure. It hands out the tokens that the test
// puts in, accepts every answer, and notes each call. Faults are injected into its
// transport.
type script struct {
	transport *embeddedtest.Transport
	tokens    chan string
	began     time.Time
	quiet     bool // note no calls
	// heartbeat is HeartbeatSeconds: a task that the service does not hear of for so long
	// has timed out. 0: tasks never do.
	heartbeat time.Duration

	mu    sync.Mutex
	calls []sentCall
	heard map[string]time.Time // the last sign of life, by token
}

// sentCall is a call that the worker sent, also if a fault struck the call.
type sentCall struct {
	op, body string
	at       time.Duration // since the start of the script
}

func newScript(tokens ...string) *script {
	s := &script{transport: embeddedtest.NewTransport(nil), tokens: make(chan string, 20_000), began: time.Now(), heard: map[string]time.Time{}}
	for _, t := range tokens {
		s.tokens <- t
	}
	s.transport.Before(s.note)
	s.transport.Around(s.answer)

	return s
}

// config serves an activity with one slot and HeartbeatSeconds of 30.
func (s *script) config(handle HandlerFunc, edit ...func(*Config)) Config {
	c := Config{
		SFN: sfn.NewFromConfig(aws.Config{
			Region:       "us-east-1",
			HTTPClient:   s.transport,
			BaseEndpoint: aws.String("http://script"),
			Credentials:  credentials.NewStaticCredentialsProvider("a", "b", ""),
		}),
		Activities: []Activity{{
			ARN:       "arn:aws:states:us-east-1:0:activity:a",
			Handle:    handle,
			Slots:     1,
			Heartbeat: 30 * time.Second,
		}},
		Log:       embeddedtest.Quiet(),
		PollGrace: -1,
	}
	for _, e := range edit {
		e(&c)
	}

	return c
}

// of returns the calls of one operation.
func (s *script) of(op string) []sentCall {
	s.mu.Lock()
	defer s.mu.Unlock()

	var out []sentCall
	for _, c := range s.calls {
		if c.op == op {
			out = append(out, c)
		}
	}

	return out
}

// note is the transport's Before hook.
func (s *script) note(c *embeddedtest.Call) error {
	if s.quiet {
		return nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, sentCall{op: c.Operation, body: string(c.Body()), at: time.Since(s.began)})

	return nil
}

// answer is the service. Like AWS it holds a poll open for 60 s.
func (s *script) answer(c *embeddedtest.Call, _ embeddedtest.Sender) (*http.Response, error) {
	if c.Operation != "GetActivityTask" {
		return s.hear(c)
	}

	timer := time.NewTimer(60 * time.Second)
	defer timer.Stop()

	select {
	case <-c.Request.Context().Done():
		return nil, c.Request.Context().Err()
	case <-timer.C:
		return c.Respond(http.StatusOK, `{"taskToken":null}`), nil
	case token := <-s.tokens:
		if strings.HasPrefix(token, "{") { // a whole answer
			return c.Respond(http.StatusOK, token), nil
		}

		text, err := json.Marshal(token)
		if err != nil {
			return nil, err
		}
		s.alive(token)

		return c.Respond(http.StatusOK, fmt.Sprintf(`{"taskToken":%s,"input":"{}"}`, text)), nil
	}
}

// hear answers a heartbeat or the end of a task.
func (s *script) hear(c *embeddedtest.Call) (*http.Response, error) {
	if s.heartbeat == 0 {
		return c.Respond(http.StatusOK, `{}`), nil
	}

	var in struct{ TaskToken string }
	if err := json.Unmarshal(c.Body(), &in); err != nil {
		return nil, err
	}

	if !s.alive(in.TaskToken) {
		return nil, &embeddedtest.Error{Code: "TaskTimedOut"}
	}

	return c.Respond(http.StatusOK, `{}`), nil
}

// alive takes note of a sign of life, and reports whether it came in time.
func (s *script) alive(token string) bool {
	if s.heartbeat == 0 {
		return true
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	last, known := s.heard[token]
	if known && time.Since(last) > s.heartbeat {
		return false
	}
	s.heard[token] = time.Now()

	return true
}
