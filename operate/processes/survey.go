package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

const (
	surveyKind = "survey"
	surveyID   = "stuck-orders"

	dueAttribute     = "due"     // when the next survey begins, in milliseconds
	startedAttribute = "started" // when the stored survey began, in milliseconds
)

// Survey is the newest count of the orders that need a person.
type Survey struct {
	// At is when the survey began, Took how long it took.
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took"`
	// Orders is how many orders were looked at, Stuck how many need a person, by the kind of the
	// problem. An order may count under two kinds.
	Orders int            `json:"orders"`
	Stuck  map[string]int `json:"stuck"`
	// Skipped says why the orders were not counted. It is "" if they were.
	Skipped string `json:"skipped,omitempty"`
}

// Total is the sum over the kinds.
func (s Survey) Total() (n int) {
	for _, count := range s.Stuck {
		n += count
	}

	return n
}

func surveyKey(name string) dynamo.Item {
	return dynamo.Item{kindKey: dynamo.S(surveyKind), idKey: dynamo.S(name)}
}

// ClaimSurvey reports whether the caller is to survey the orders now, and sets the next survey to a
// time every from now. Of several callers at once one succeeds, because the write has the time that
// it read as its condition. The first survey of a new table is due after every. If a caller is
// killed before it stores a result, the next survey is made when it is due.
func (s *Store) ClaimSurvey(ctx context.Context, now time.Time, every time.Duration) (bool, error) {
	mine, first, err := s.claim(ctx, surveyID, now, every)
	// The first caller only sets the time: a table that was just created has no orders worth a
	// survey.
	return mine && !first, err
}

// claim sets when something is due again, and reports whether it was due, and whether this is the first time.
func (s *Store) claim(ctx context.Context, name string, now time.Time, every time.Duration) (mine, first bool, err error) {
	row, err := s.readSurvey(ctx, name)
	if err != nil {
		return false, false, err
	}

	return s.claimRow(ctx, name, row, now, every)
}

// claimRow is claim with the row as it was read.
func (s *Store) claimRow(ctx context.Context, name string, row dynamo.Item, now time.Time, every time.Duration) (mine, first bool, err error) {
	due := dynamo.Time(row, dueAttribute)
	// A time far ahead comes from a wrong clock or a longer interval. It must not stop the surveys,
	// so it counts as due.
	if !due.IsZero() && now.Before(due) && due.Before(now.Add(2*every)) {
		return false, false, nil
	}

	update := dynamo.NewUpdate(s.cfg.Table, surveyKey(name)).SetValue(dueAttribute, dynamo.Millis(now.Add(every)))
	if due.IsZero() {
		update.IfAbsent(dueAttribute)
	} else {
		update.IfEquals(dueAttribute, dynamo.Millis(due))
	}

	_, err = s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, lost := dynamo.FailedCondition(err); lost {
		return false, false, nil
	}

	if err != nil {
		return false, false, fmt.Errorf("processes: claim the survey of %s: %w", name, err)
	}

	return true, due.IsZero(), nil
}

// StoreSurvey stores a result, unless a survey that began later has stored its own.
func (s *Store) StoreSurvey(ctx context.Context, survey Survey) error {
	body, err := json.Marshal(survey)
	if err != nil {
		return fmt.Errorf("processes: survey of stuck orders: %w", err)
	}

	update := dynamo.NewUpdate(s.cfg.Table, surveyKey(surveyID)).
		// A slow survey must not replace the result of a survey that began later.
		If("attribute_not_exists(#started) OR #started < :started").
		Bind(":started", dynamo.Millis(survey.At)).
		Set("#started = :started").
		SetValue(bodyAttribute, dynamo.S(string(body)))

	_, err = s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, older := dynamo.FailedCondition(err); older {
		return nil
	}

	if err != nil {
		return fmt.Errorf("processes: store the survey of stuck orders: %w", err)
	}

	return nil
}

// NewestSurvey returns the newest result, and whether there is one.
func (s *Store) NewestSurvey(ctx context.Context) (survey Survey, known bool, err error) {
	row, err := s.readSurvey(ctx, surveyID)
	if err != nil {
		return Survey{}, false, err
	}

	body := dynamo.Text(row, bodyAttribute)
	if body == "" {
		return Survey{}, false, nil
	}

	if err := json.Unmarshal([]byte(body), &survey); err != nil {
		return Survey{}, false, fmt.Errorf("processes: survey of stuck orders: %w", err)
	}

	return survey, true, nil
}

// StuckSince returns when the newest survey began that has looked, for [Store.Stuck]; zero if there is none. A
// survey that was skipped has not looked: what the one before it has found ends by itself.
func (s *Store) StuckSince(ctx context.Context) (time.Time, error) {
	survey, known, err := s.NewestSurvey(ctx)
	if err != nil || !known || survey.Skipped != "" {
		return time.Time{}, err
	}

	return survey.At, nil
}

func (s *Store) readSurvey(ctx context.Context, name string) (dynamo.Item, error) {
	return s.row(ctx, surveyKey(name), "the survey of "+name)
}

// Note returns a text that the processes share, "" if there is none.
func (s *Store) Note(ctx context.Context, name string) (string, error) {
	row, err := s.row(ctx, surveyKey(name), "the note "+name)

	return dynamo.Text(row, bodyAttribute), err
}

// ReplaceNote stores a text in place of the one that the caller has seen, "" for none. If another one is
// stored by now, it stays.
func (s *Store) ReplaceNote(ctx context.Context, name, seen, text string) error {
	update := dynamo.NewUpdate(s.cfg.Table, dynamo.Item{kindKey: dynamo.S(surveyKind), idKey: dynamo.S(name)}).SetValue(bodyAttribute, dynamo.S(text))
	if seen == "" {
		update.IfAbsent(bodyAttribute)
	} else {
		update.IfEquals(bodyAttribute, dynamo.S(seen))
	}

	_, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, other := dynamo.FailedCondition(err); other {
		return nil
	}

	if err != nil {
		return fmt.Errorf("processes: store the note %s: %w", name, err)
	}

	return nil
}
