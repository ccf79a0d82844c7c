package console

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"ratchet/api/auth"
)

// slowQuestion is a question that takes longer than a page may.
type slowQuestion struct {
	name, title, does string
	line              string // the same on the command line
	shared            bool   // only the default tenant may ask it
}

var slowQuestions = []slowQuestion{
	{name: "doctor", title: "Doctor", does: "Checks what is set up: settings, tables, permissions of the API, state machine, queue and stream.", line: "ratchet doctor", shared: true},
	{name: "verify", title: "Verify", does: "Compares every order with its journal.", line: "ratchet verify"},
	{name: "survey", title: "Survey", does: "Looks for stuck orders, and at the executions of those that have not ended.", line: "ratchet executions repair"},
	{name: "unsettled", title: "Unsettled claims", does: "Looks for claims whose work does not end.", line: "ratchet claims unsettled"},
	{name: "plan", title: "Plan", does: "Says what is left of rolling out this program.", line: "ratchet deploy plan", shared: true},
}

// questionActs are the acts that ask.
func questionActs() (all []act) {
	for _, q := range slowQuestions {
		all = append(all, act{
			name: q.name, title: "Ask: " + q.title, does: q.does + " It reads whole tables, and changes nothing.", scope: auth.Admin, stream: q.shared,
			method: http.MethodPost, path: "/v1/questions/" + q.name, page: Path + "/doctor/" + q.name, command: q.line,
		})
	}

	return all
}

// questionNamed returns the question, with its name alone if the console does not know it.
func questionNamed(name string) slowQuestion {
	i := slices.IndexFunc(slowQuestions, func(q slowQuestion) bool { return q.name == name })
	if i < 0 {
		return slowQuestion{name: name, title: name}
	}

	return slowQuestions[i]
}

// questionShown is the part of a question that is shown.
type questionShown struct {
	Question, State, By, Problem string
	AskedAt                      moment
	Looked                       int64
	Answer                       *struct {
		AnsweredAt moment
		Counts     map[string]int64
		Found      int64
	}
	Findings []struct{ Kind, Subject, Text, Next string }
}

// stateText is the state in words.
func (q questionShown) stateText() string {
	switch q.State {
	case "never_asked":
		return "not asked"
	case "failed":
		return "failed: " + q.Problem
	}

	return q.State
}

// kindOf says how the state of a question is colored.
func (q questionShown) kindOf() string {
	switch {
	case q.State == "failed":
		return "bad"
	case q.Answer != nil && q.Answer.Found > 0:
		return "warn"
	case q.State == "answered":
		return "good"
	}

	return ""
}

// numbers are the counts of the answer.
func (q questionShown) numbers() (all []fact) {
	for _, name := range slices.Sorted(maps.Keys(q.Answer.Counts)) {
		all = append(all, fact{name, thousands(q.Answer.Counts[name])})
	}

	return all
}

// page is the page of what a finding is about, "" if it has none.
func (q questionShown) page(subject string) string {
	if subject == "" || q.Question != "verify" && q.Question != "survey" {
		return ""
	}

	return pathTo(Path+"/orders/%s", subject)
}

func doctor(ctx context.Context, v *visit) (content, error) {
	var list struct{ Questions []questionShown }
	if err := v.get(ctx, "/v1/questions", &list); err != nil {
		return content{}, err
	}

	return content{"Doctor", doctorPage(v, list.Questions)}, nil
}

func question(ctx context.Context, v *visit) (content, error) {
	var q questionShown
	if err := v.get(ctx, pathTo("/v1/questions/%s", v.request.PathValue("question")), &q); err != nil {
		return content{}, err
	}

	return content{questionNamed(q.Question).title, questionPage(v, q)}, nil
}
