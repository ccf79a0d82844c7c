package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
)

func (s *service) questionRoutes(h huma.API) {
	ask := adminVerb("questions", "ask-question", http.MethodPost, "/v1/questions/{question}", "Begin to answer a slow question",
		"It reads whole tables, for up to an hour, in the process that gets the request. A question is answered once at a time for a tenant, "+
			"and a process answers two: 409 question_runs or 429 otherwise. Ask GET for the progress. doctor and plan are for administrators of the default tenant.",
		"question").mayConflict()
	ask.status = http.StatusAccepted
	register(s, h, ask, s.askQuestion)

	register(s, h, route{
		id: "get-question", method: http.MethodGet, path: "/v1/questions/{question}", tag: "questions", scope: auth.Admin, status: http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read the newest answer to a slow question, and how far the next one is",
		description: "The answer is kept for a week, and says nothing about what has changed since. It has the first 100 findings about the tenant's own: ids, codes " +
			"and words of the server, and nothing of an order's content.",
	}, s.getQuestion)
	register(s, h, route{
		id: "list-questions", method: http.MethodGet, path: "/v1/questions", tag: "questions", scope: auth.Admin, status: http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "List the slow questions that the caller may ask, without what their answers have found",
	}, s.listQuestions)
}

// questionState is a slow question, with its newest run and its newest answer.
type questionState struct {
	Question string          `json:"question" enum:"doctor,plan,survey,unsettled,verify" doc:"doctor: what is set up wrongly. plan: what is left of a rollout. survey: which orders are stuck. unsettled: which claims do not end. verify: whether orders fit their journals."`
	State    string          `json:"state" enum:"never_asked,running,answered,failed" doc:"Of the newest run."`
	AskedAt  *time.Time      `json:"askedAt,omitempty" doc:"When the newest run began."`
	By       string          `json:"by,omitempty" personal:"actor" doc:"Who has asked."`
	Looked   int64           `json:"looked" doc:"How much the newest run has looked at: orders, records of claims, or checks."`
	Problem  string          `json:"problem,omitempty" enum:"failed,too_long,stopped,interrupted" doc:"Why the newest run has no answer. failed: the server's log says more. stopped, interrupted: with its process."`
	Answer   *questionAnswer `json:"answer,omitempty" doc:"The newest answer, of this run or an earlier one."`
	// Findings are not in lists of questions.
	Findings []questionFinding `json:"findings,omitzero" doc:"The first 100 of what the answer has found, if one question is read."`
}

type questionAnswer struct {
	AskedAt    time.Time        `json:"askedAt"`
	AnsweredAt time.Time        `json:"answeredAt"`
	AgeSeconds int64            `json:"ageSeconds" doc:"How long ago it was answered."`
	Counts     map[string]int64 `json:"counts" doc:"What was looked at, and how much of it was what."`
	Found      int64            `json:"found" doc:"How many things need a person."`
}

// questionFinding is something that needs a person.
type questionFinding struct {
	Kind    string `json:"kind" doc:"A code: of a check, a step, a problem of an order, a status of a claim."`
	Subject string `json:"subject,omitempty" doc:"What it is about: an order, a key, or a part of the setup."`
	Text    string `json:"text,omitempty" doc:"What was found."`
	Next    string `json:"next,omitempty" doc:"What to do."`
}

type questionInput struct {
	Question string `path:"question" enum:"doctor,plan,survey,unsettled,verify"`
}

type keyedQuestionInput struct {
	input.MayBeKeyed
	Question string `path:"question" enum:"doctor,plan,survey,unsettled,verify"`
}

type questionOutput struct {
	input.Repeat
	Body questionState
}

type questionFoundOutput struct {
	Body questionState
}

type listQuestionsOutput struct {
	Body struct {
		Questions []questionState `json:"questions"`
	}
}

// mayAsk returns the desk, or why the caller may not ask the question.
func (s *service) mayAsk(c caller, name string) (*questions.Desk, error) {
	switch desk := s.cfg.Questions; {
	case desk == nil:
		return nil, notFound("question")
	case c.tenant.owner() != "" && desk.Shared(name):
		return nil, newProblem(http.StatusForbidden, "forbidden", "Only administrators of the default tenant may ask about what belongs to all tenants.")
	default:
		return desk, nil
	}
}

func (s *service) askQuestion(ctx context.Context, c caller, in *keyedQuestionInput) (*questionOutput, error) {
	desk, err := s.mayAsk(c, in.Question)
	if err != nil {
		return nil, err
	}

	q, err := desk.Ask(ctx, c.tenant.owner(), in.Question, c.ID)
	if err != nil {
		return nil, err
	}

	return &questionOutput{Body: showQuestion(q, time.Now())}, nil
}

func (s *service) getQuestion(ctx context.Context, c caller, in *questionInput) (*questionFoundOutput, error) {
	desk, err := s.mayAsk(c, in.Question)
	if err != nil {
		return nil, err
	}

	q, err := desk.Get(ctx, c.tenant.owner(), in.Question)
	if err != nil {
		return nil, err
	}

	found, err := desk.Findings(ctx, c.tenant.owner(), q)
	if err != nil {
		return nil, err
	}

	out := &questionFoundOutput{Body: showQuestion(q, time.Now())}
	out.Body.Findings = []questionFinding{}

	for _, f := range found {
		out.Body.Findings = append(out.Body.Findings, questionFinding{f.Kind, c.tenant.ownWords(f.Subject), c.tenant.ownWords(f.Text), c.tenant.ownWords(f.Next)})
	}

	return out, nil
}

func (s *service) listQuestions(ctx context.Context, c caller, _ *struct{}) (*listQuestionsOutput, error) {
	desk, err := s.mayAsk(c, "")
	if err != nil {
		return nil, err
	}

	out := &listQuestionsOutput{}
	out.Body.Questions = []questionState{}

	for _, name := range desk.Names(c.tenant.owner()) {
		q, err := desk.Get(ctx, c.tenant.owner(), name)
		if err != nil {
			return nil, err
		}
		out.Body.Questions = append(out.Body.Questions, showQuestion(q, time.Now()))
	}

	return out, nil
}

func showQuestion(q processes.Question, now time.Time) questionState {
	shown := questionState{
		Question: q.Name, State: "answered", AskedAt: optionalTime(q.AskedAt), By: q.By, Looked: q.Looked, Problem: q.Problem,
	}

	switch {
	case q.AskedAt.IsZero():
		shown.State = "never_asked"
	case q.Problem != "":
		shown.State = "failed"
	case q.EndedAt.IsZero():
		shown.State = "running"
	}

	if a := q.Answer; a != nil {
		shown.Answer = &questionAnswer{a.AskedAt, a.At, int64(max(0, now.Sub(a.At)).Seconds()), a.Counts, a.Found}
	}

	return shown
}
