package api_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
)

// newDesk returns a desk that answers all questions, each at once, with what it was asked about. It works until the test ends.
func newDesk(t testing.TB, db *dynamodb.Client, log *slog.Logger) *questions.Desk {
	t.Helper()

	store, err := processes.New(processes.Config{DynamoDB: db, Table: "questions"})
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]questions.Question{}
	for _, name := range []string{"doctor", "plan", "survey", "unsettled", "verify"} {
		all[name] = questions.Question{Shared: name == "doctor" || name == "plan", Answer: func(_ context.Context, r *questions.Run) error {
			id := "o-1"
			if r.Owner != "" {
				id = r.Owner + ":o-1"
			}
			r.Looked(7)
			r.Count("orders", 7)
			r.Found(processes.Finding{Kind: "gap", Subject: id, Text: "order " + id, Next: "`ratchet orders rebuild " + id + "`"})

			return nil
		}}
	}

	return runDesk(t, questions.Config{Store: store, Questions: all, Log: log})
}

// runDesk returns a desk that works until the test ends.
//
//raced:in TestQuestionsAreAskedAndAnsweredOverTheAPI
func runDesk(t testing.TB, cfg questions.Config) *questions.Desk {
	t.Helper()

	desk, err := questions.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- desk.Run(ctx) }()

	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return desk
}

// TestQuestionsAreAskedAndAnsweredOverTheAPI: each tenant has its own answer in its own ids; what belongs to all tenants is for the
// default one; who has asked is masked as elsewhere; and no scope below admin may ask.
func TestQuestionsAreAskedAndAnsweredOverTheAPI(t *testing.T) { synctest.Test(t, testQuestions) }

func testQuestions(t *testing.T) {
	s := newAPIServer(t, nil)
	own, acme, other := s.key(auth.DefaultTenant, auth.Admin), s.key("acme", auth.Admin), s.key("other", auth.Admin)

	ask := func(bearer, method, path string, status int, code string) answer {
		t.Helper()
		return s.want(s.ask(method, "/v1/questions"+path, "", "Authorization", bearer), status, code)
	}
	answered := func(bearer, path string) (a answer) {
		t.Helper()
		synctest.Wait()

		if a = ask(bearer, "GET", path, http.StatusOK, ""); a.field("state") != "answered" {
			t.Error(a.text)
		}

		return a
	}

	if a := ask(acme, "GET", "/verify", http.StatusOK, ""); a.field("state") != "never_asked" || strings.Contains(a.text, `"answer"`) || !strings.Contains(a.text, `"findings":[]`) {
		t.Error(a.text)
	}

	if a := ask(acme, "POST", "/verify", http.StatusAccepted, ""); a.field("askedAt") == "<nil>" || !strings.HasPrefix(a.field("by"), "key:") {
		t.Error(a.text)
	}

	a := answered(acme, "/verify")
	for _, want := range []string{`"counts":{"orders":7}`, `"found":1`, `"ageSeconds":`, `"looked":7`, `"findings":[{"kind":"gap","subject":"o-1","text":"order o-1","next":"` + "`ratchet orders rebuild o-1`" + `"}]`} {
		if !strings.Contains(a.text, want) {
			t.Errorf("no %s in %s", want, a.text)
		}
	}

	// Another tenant's answer is another one.
	if a := ask(other, "GET", "/verify", http.StatusOK, ""); a.field("state") != "never_asked" || strings.Contains(a.text, "o-1") {
		t.Error(a.text)
	}

	// A key names the request.
	first := s.want(s.ask("POST", "/v1/questions/verify", "", "Authorization", acme, "Idempotency-Key", "again"), http.StatusAccepted, "")
	if again := s.want(s.ask("POST", "/v1/questions/verify", "", "Authorization", acme, "Idempotency-Key", "again"), http.StatusAccepted, ""); again.text != first.text {
		t.Errorf("%s, then %s", first.text, again.text)
	}
	answered(acme, "/verify")

	// What belongs to all tenants.
	for _, name := range []string{"/doctor", "/plan"} {
		ask(acme, "POST", name, http.StatusForbidden, "forbidden")
		ask(acme, "GET", name, http.StatusForbidden, "forbidden")
		ask(own, "POST", name, http.StatusAccepted, "")
		answered(own, name)
	}

	if a := ask(acme, "GET", "", http.StatusOK, ""); strings.Count(a.text, `"question":`) != 3 || strings.Contains(a.text, "doctor") || strings.Contains(a.text, "findings") {
		t.Error(a.text)
	}

	if a := ask(own, "GET", "", http.StatusOK, ""); strings.Count(a.text, `"question":`) != 5 || strings.Count(a.text, `"answered"`) != 2 {
		t.Error(a.text)
	}

	act := s.key("acme", auth.Act)
	ask(act, "POST", "/verify", http.StatusForbidden, "forbidden")
	ask(act, "GET", "/verify", http.StatusForbidden, "forbidden")
	ask(act, "GET", "", http.StatusForbidden, "forbidden")
	ask(acme, "GET", "/none", http.StatusUnprocessableEntity, "invalid_request")
}

// TestAQuestionThatIsBeingAnsweredIsNotBegunAgain: the second request is a conflict, of that tenant alone; a process with as many runs as
// it may have says so; and a run without an answer says why.
func TestAQuestionThatIsBeingAnsweredIsNotBegunAgain(t *testing.T) {
	synctest.Test(t, testRunningQuestion)
}

func testRunningQuestion(t *testing.T) {
	answer := make(chan error)
	s := newAPIServer(t, func(c *api.Config) {
		store, err := processes.New(processes.Config{DynamoDB: c.DeadLetters.DynamoDB.(*dynamodb.Client), Table: "questions"})
		if err != nil {
			t.Fatal(err)
		}
		c.Questions = runDesk(t, questions.Config{Store: store, Log: c.Log, Questions: map[string]questions.Question{
			"verify": {Answer: func(ctx context.Context, r *questions.Run) error {
				r.Looked(3)

				select {
				case err := <-answer:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}},
		}})
	})
	acme := s.key("acme", auth.Admin)

	s.must("POST", "/v1/questions/verify", "", "Authorization", acme)
	s.want(s.ask("POST", "/v1/questions/verify", "", "Authorization", acme), http.StatusConflict, "question_runs")
	s.must("POST", "/v1/questions/verify", "", "Authorization", s.key("other", auth.Admin))
	s.want(s.ask("POST", "/v1/questions/verify", "", "Authorization", s.key("third", auth.Admin)), http.StatusTooManyRequests, "too_many_questions")

	if a := s.must("GET", "/v1/questions/verify", "", "Authorization", acme); a.field("state") != "running" {
		t.Error(a.text)
	}

	for range 2 {
		answer <- errors.New("the table of acme:o-1 cannot be read")
	}

	synctest.Wait()

	// The error is for the log.
	if a := s.must("GET", "/v1/questions/verify", "", "Authorization", acme); a.field("state") != "failed" || a.field("problem") != "failed" || strings.Contains(a.text, "cannot be read") {
		t.Error(a.text)
	}
}

// TestWithoutADeskNoQuestionIsThere.
func TestWithoutADeskNoQuestionIsThere(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { dev(c); c.Questions = nil })

	for _, method := range []string{"GET", "POST"} {
		s.want(s.ask(method, "/v1/questions/verify", ""), http.StatusNotFound, "question_not_found")
	}
	s.want(s.ask("GET", "/v1/questions", ""), http.StatusNotFound, "question_not_found")
}
