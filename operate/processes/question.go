package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// The rows of slow questions: kind "question#<owner>" with the state of each, and "answer#<owner>" with what the newest answer has
// found, which is larger and written once. The id is the name of the question.
const (
	questionKind = "question#"
	answerKind   = "answer#"

	askedBy  = "by"
	endedAt  = "ended"   // of the run that started last, in milliseconds
	looked   = "looked"  // how much the run has looked at
	troubled = "problem" // why the run has no answer
)

// answerKept is how long an answer is kept.
const answerKept = 7 * 24 * time.Hour

// Question is a slow question: its newest run, and its newest answer.
type Question struct {
	Name string
	// AskedAt is when the newest run began, and By who has asked. EndedAt is zero while it runs.
	AskedAt, EndedAt time.Time
	By               string
	// LeaseEnd is when a run without an end and without a sign of life counts as interrupted.
	LeaseEnd time.Time
	// Looked is how much the run has looked at, and Problem a code that says why it has ended without an answer.
	Looked  int64
	Problem string
	// Answer is the newest answer, nil if there is none.
	Answer *Answer
}

// Runs reports whether the newest run goes on.
func (q Question) Runs(now time.Time) bool {
	return !q.AskedAt.IsZero() && q.EndedAt.IsZero() && now.Before(q.LeaseEnd)
}

// Answer is the answer to a slow question.
type Answer struct {
	// AskedAt is when its run began, At when that ended.
	AskedAt time.Time `json:"askedAt"`
	At      time.Time `json:"at"`
	// Counts say what was looked at, and how much of it was found to be what.
	Counts map[string]int64 `json:"counts"`
	// Found is how many things need a person. Findings are the first of them.
	Found    int64     `json:"found"`
	Findings []Finding `json:"-"`
}

// Finding is something that needs a person. It has ids and codes, and texts of the program, but nothing of an order's content.
type Finding struct {
	// Kind is a code.
	Kind string `json:"kind"`
	// Subject is what it is about, such as the id of an order as it is stored.
	Subject string `json:"subject,omitempty"`
	// Text says what was found, and Next what to do.
	Text string `json:"text,omitempty"`
	Next string `json:"next,omitempty"`
}

func questionKey(kind, owner, name string) dynamo.Item {
	return dynamo.Item{kindKey: dynamo.S(kind + owner), idKey: dynamo.S(name)}
}

// StartQuestion starts a run of a question, unless one runs. It returns the question, and whether this call has started the run.
func (s *Store) StartQuestion(ctx context.Context, owner, name, by string, now time.Time, lease time.Duration) (Question, bool, error) {
	now = now.UTC().Truncate(time.Millisecond)
	update := dynamo.NewUpdate(s.cfg.Table, questionKey(questionKind, owner, name)).
		If("attribute_not_exists(#due) OR #due <= :now").
		Alias("#due", dueAttribute).
		Bind(":now", dynamo.Millis(now)).
		SetValue(startedAttribute, dynamo.Millis(now)).
		SetValue(dueAttribute, dynamo.Millis(now.Add(lease))).
		SetValue(askedBy, dynamo.S(by)).
		SetValue(looked, dynamo.N(0)).
		SetValue(ExpiryAttribute, dynamo.Seconds(now.Add(answerKept))).
		RemoveAttribute(endedAt).
		RemoveAttribute(troubled)

	_, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	_, runs := dynamo.FailedCondition(err)

	if err != nil && !runs {
		return Question{}, false, fmt.Errorf("processes: ask %s: %w", name, err)
	}

	q, err := s.Question(ctx, owner, name)

	return q, err == nil && !runs, err
}

// HoldQuestion says how much a run has looked at, and that it goes on at least until due. It reports false if another run has begun.
func (s *Store) HoldQuestion(ctx context.Context, owner string, run Question, seen int64, due time.Time) (bool, error) {
	return s.changeQuestion(ctx, run.Name, s.updateRun(owner, run).SetValue(looked, dynamo.N(seen)).SetValue(dueAttribute, dynamo.Millis(due)))
}

// EndQuestion stores the end of a run: its answer, or without one a code that says why there is none. The answer before stays then. If
// another run has begun, it stores nothing that is shown.
func (s *Store) EndQuestion(ctx context.Context, owner string, run Question, answer *Answer, problem string) error {
	update := s.updateRun(owner, run).
		SetValue(endedAt, dynamo.Millis(run.EndedAt)).
		SetValue(looked, dynamo.N(run.Looked)).
		RemoveAttribute(dueAttribute)

	if answer == nil {
		update.SetValue(troubled, dynamo.S(problem))
	} else {
		body, err := json.Marshal(answer)
		if err == nil {
			// Before the state, which names the run whose findings these are.
			err = s.storeFindings(ctx, owner, run, answer)
		}

		if err != nil {
			return fmt.Errorf("processes: store the answer to %s: %w", run.Name, err)
		}
		update.SetValue(bodyAttribute, dynamo.S(string(body))).
			SetValue(ExpiryAttribute, dynamo.Seconds(answer.At.Add(answerKept)))
	}

	_, err := s.changeQuestion(ctx, run.Name, update)

	return err
}

// updateRun changes the row of a question while the run is its newest one.
func (s *Store) updateRun(owner string, run Question) *dynamo.Update {
	return dynamo.NewUpdate(s.cfg.Table, questionKey(questionKind, owner, run.Name)).
		IfEquals(startedAttribute, dynamo.Millis(run.AskedAt)).
		If("attribute_not_exists(#ended)").
		Alias("#ended", endedAt)
}

func (s *Store) changeQuestion(ctx context.Context, name string, update *dynamo.Update) (newest bool, err error) {
	_, err = s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, other := dynamo.FailedCondition(err); other {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("processes: the run of %s: %w", name, err)
	}

	return true, nil
}

func (s *Store) storeFindings(ctx context.Context, owner string, run Question, answer *Answer) error {
	body, err := json.Marshal(answer.Findings)
	if err != nil {
		return err
	}

	item := questionKey(answerKind, owner, run.Name)
	item[startedAttribute] = dynamo.Millis(run.AskedAt)
	item[bodyAttribute] = dynamo.S(string(body))
	item[ExpiryAttribute] = dynamo.Seconds(answer.At.Add(answerKept))

	_, err = s.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &s.cfg.Table,
		Item:                      item,
		ConditionExpression:       ptr("attribute_not_exists(#started) OR #started <= :started"),
		ExpressionAttributeNames:  map[string]string{"#started": startedAttribute},
		ExpressionAttributeValues: dynamo.Item{":started": dynamo.Millis(run.AskedAt)},
	})
	if _, newer := dynamo.FailedCondition(err); newer {
		return nil
	}

	return err
}

// Question returns a question as it is. One that was not asked, or whose answer has expired, has only a name.
func (s *Store) Question(ctx context.Context, owner, name string) (Question, error) {
	row, err := s.questionRow(ctx, questionKind, owner, name)
	if err != nil || row == nil || dynamo.HasExpired(row, ExpiryAttribute, time.Now()) {
		return Question{Name: name}, err
	}

	q := Question{
		Name: name, AskedAt: dynamo.Time(row, startedAttribute), EndedAt: dynamo.Time(row, endedAt), By: dynamo.Text(row, askedBy),
		LeaseEnd: dynamo.Time(row, dueAttribute), Looked: dynamo.Number(row, looked), Problem: dynamo.Text(row, troubled),
	}

	if body := dynamo.Text(row, bodyAttribute); body != "" {
		q.Answer = &Answer{}
		if err := json.Unmarshal([]byte(body), q.Answer); err != nil {
			return q, fmt.Errorf("processes: the answer to %s: %w", name, err)
		}
	}

	return q, nil
}

// Findings reads what the newest answer to the question has found. Of an answer that was replaced meanwhile, or whose process has ended
// while it was stored, there is nothing.
func (s *Store) Findings(ctx context.Context, owner string, q Question) (found []Finding, err error) {
	row, err := s.questionRow(ctx, answerKind, owner, q.Name)
	if err != nil || q.Answer == nil || !dynamo.Time(row, startedAttribute).Equal(q.Answer.AskedAt) {
		return nil, err
	}

	if err := json.Unmarshal([]byte(dynamo.Text(row, bodyAttribute)), &found); err != nil {
		return nil, fmt.Errorf("processes: the answer to %s: %w", q.Name, err)
	}

	return found, nil
}

func (s *Store) questionRow(ctx context.Context, kind, owner, name string) (dynamo.Item, error) {
	return s.row(ctx, questionKey(kind, owner, name), "the question "+name)
}
