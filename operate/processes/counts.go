package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Count is how many orders of an owner are in which state: what a pass over the table has counted, and what was moved since.
type Count struct {
	// At is when the pass began, Took how long it took.
	At   time.Time
	Took time.Duration
	// UpTo is the end of the last minute whose moves are in the count.
	UpTo time.Time
	// Orders are the numbers by version of the definition and state.
	Orders map[int]map[string]int64
	// Error is by how many orders a number may be wrong because of moves during the pass, and of moves that were not noted.
	Error int64
}

// The rows of counts: kind "count", the id is the owner with a prefix, since an id must not be empty. The number of each state is an
// attribute of its own, so that moves are added in one write.
const (
	countKind    = "count"
	countID      = "of:"
	countsPass   = "orders" // the row that says when the next pass is due
	foldedUpTo   = "upTo"
	countError   = "error"
	countOrders  = "orders" // of the row that says when the next pass is due
	countNumber  = "n:"
	countMinutes = 2 * time.Minute // a row of a minute is written by then
	countIdle    = 10 * time.Minute
	movesTurn    = "moves" // the row that says when moves are added next
)

func countKey(owner string) dynamo.Item {
	return dynamo.Item{kindKey: dynamo.S(countKind), idKey: dynamo.S(countID + owner)}
}

func numberName(version int, state string) string {
	return countNumber + strconv.Itoa(version) + "/" + state
}

// ClaimCount reports whether the caller is to count the orders now, as [Store.ClaimSurvey] does for surveys. The
// first count of a table is due at once. every is asked for the time between two counts with the number of orders that the last pass
// has counted.
func (s *Store) ClaimCount(ctx context.Context, now time.Time, every func(orders int64) time.Duration) (bool, error) {
	row, err := s.readSurvey(ctx, countsPass)
	if err != nil {
		return false, err
	}

	mine, _, err := s.claimRow(ctx, countsPass, row, now, every(dynamo.Number(row, countOrders)))

	return mine, err
}

// HoldCount says that a pass which was claimed goes on: no other one begins before due.
func (s *Store) HoldCount(ctx context.Context, due time.Time) error {
	return s.setCount(ctx, dynamo.NewUpdate(s.cfg.Table, surveyKey(countsPass)).SetValue(dueAttribute, dynamo.Millis(due)))
}

// EndCount stores how many orders a pass has counted, and when the next one is due.
func (s *Store) EndCount(ctx context.Context, orders int64, due time.Time) error {
	return s.setCount(ctx, dynamo.NewUpdate(s.cfg.Table, surveyKey(countsPass)).
		SetValue(dueAttribute, dynamo.Millis(due)).SetValue(countOrders, dynamo.N(orders)))
}

func (s *Store) setCount(ctx context.Context, update *dynamo.Update) error {
	if _, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("processes: the count of orders: %w", err)
	}

	return nil
}

// StoreCount replaces the count of an owner by that of a pass, unless one that began later is stored.
func (s *Store) StoreCount(ctx context.Context, owner string, c Count) error {
	body, err := json.Marshal(c.Took)
	if err != nil {
		return fmt.Errorf("processes: count of orders: %w", err)
	}

	item := countKey(owner)
	item[startedAttribute] = dynamo.Millis(c.At)
	item[bodyAttribute] = dynamo.S(string(body))
	item[foldedUpTo] = dynamo.Millis(c.At)
	item[countError] = dynamo.N(c.Error)

	for version, states := range c.Orders {
		for state, n := range states {
			item[numberName(version, state)] = dynamo.N(n)
		}
	}

	_, err = s.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &s.cfg.Table,
		Item:                      item,
		ConditionExpression:       ptr("attribute_not_exists(#started) OR #started < :started"),
		ExpressionAttributeNames:  map[string]string{"#started": startedAttribute},
		ExpressionAttributeValues: dynamo.Item{":started": dynamo.Millis(c.At)},
	})
	if _, older := dynamo.FailedCondition(err); older {
		return nil
	}

	if err != nil {
		return fmt.Errorf("processes: store the count of orders: %w", err)
	}

	return nil
}

// NewestCount returns the count of an owner, and whether there is one.
func (s *Store) NewestCount(ctx context.Context, owner string) (c Count, known bool, err error) {
	row, err := s.row(ctx, countKey(owner), "the count of orders")
	if err != nil || row == nil {
		return Count{}, false, err
	}

	return countOf(row), true, nil
}

func countOf(row dynamo.Item) Count {
	c := Count{At: dynamo.Time(row, startedAttribute), UpTo: dynamo.Time(row, foldedUpTo), Error: dynamo.Number(row, countError), Orders: map[int]map[string]int64{}}
	_ = json.Unmarshal([]byte(dynamo.Text(row, bodyAttribute)), &c.Took) // without it, the pass took no time

	for name := range row {
		of, state, _ := strings.Cut(strings.TrimPrefix(name, countNumber), "/")
		version, err := strconv.Atoi(of)

		if !strings.HasPrefix(name, countNumber) || err != nil {
			continue
		}

		if c.Orders[version] == nil {
			c.Orders[version] = map[string]int64{}
		}
		c.Orders[version][state] = dynamo.Number(row, name)
	}

	return c
}

// Counted returns the owners whose orders were counted, with their counts.
func (s *Store) Counted(ctx context.Context) (map[string]Count, error) {
	pages := dynamodb.NewQueryPaginator(s.cfg.DynamoDB, &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    ptr("#kind = :kind"),
		ExpressionAttributeNames:  map[string]string{"#kind": kindKey},
		ExpressionAttributeValues: dynamo.Item{":kind": dynamo.S(countKind)},
	})

	all := map[string]Count{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("processes: read the counts of orders: %w", err)
		}

		for _, row := range page.Items {
			all[strings.TrimPrefix(dynamo.Text(row, idKey), countID)] = countOf(row)
		}
	}

	return all, nil
}

// AddMoves adds to the counts what was moved since, in minutes that are over. Of several callers in a minute one does it. Each
// minute is added to each count once, because a write has the end of the last minute as its condition.
func (s *Store) AddMoves(ctx context.Context, now time.Time) error {
	if mine, _, err := s.claim(ctx, movesTurn, now, 50*time.Second); err != nil || !mine {
		return err
	}

	counts, err := s.Counted(ctx)
	if err != nil || len(counts) == 0 {
		return err
	}

	upTo := now.Add(-countMinutes).Truncate(time.Minute)
	oldest := upTo

	for _, c := range counts {
		if c.UpTo.Before(oldest) {
			oldest = c.UpTo
		}
	}

	kept := now.Add(-minuteRetention) // rows of earlier minutes have expired

	if oldest = later(oldest, kept); !oldest.Before(upTo) {
		return nil
	}

	minutes, err := s.Minutes(ctx, oldest)
	if err != nil {
		return err
	}

	// More are there: the next call goes on behind these.
	if n := len(minutes); n >= MaxMinutes {
		if end := minutes[n-1].At.Add(-time.Second); end.Before(upTo) {
			upTo = end
		}
	}

	var failed []error
	for owner, c := range counts {
		missed := int64(0)
		if c.UpTo.Before(kept) {
			missed = c.total()
		}

		if err := s.addMoves(ctx, owner, c, minutes, upTo, missed); err != nil {
			failed = append(failed, err)
		}
	}

	return errors.Join(failed...)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}

	return a
}

// total returns the number of orders.
func (c Count) total() (sum int64) {
	for _, states := range c.Orders {
		for _, n := range states {
			sum += n
		}
	}

	return sum
}

// addMoves adds the moves of an owner's orders, in minutes between the count and upTo, to the count. missed is by how
// many orders a number may be wrong beside that.
func (s *Store) addMoves(ctx context.Context, owner string, c Count, minutes []Minute, upTo time.Time, missed int64) error {
	// A pass has seen some of the moves of these minutes.
	unsure := c.At.Add(c.Took + time.Minute)
	by, wrong := map[string]int64{}, missed

	for _, m := range minutes {
		if !m.At.After(c.UpTo) || m.At.After(upTo) {
			continue
		}
		wrong += m.Unnoted

		for _, moved := range m.Moved {
			if moved.Owner != owner {
				continue
			}
			by[numberName(moved.Version, moved.State)] += moved.By

			if m.At.Before(unsure) && moved.By > 0 {
				wrong += moved.By
			}
		}
	}

	// Without moves the count is written rarely, so that the minutes are not read again and again.
	if len(by) == 0 && wrong == 0 && upTo.Sub(c.UpTo) < countIdle {
		return nil
	}

	update := dynamo.NewUpdate(s.cfg.Table, countKey(owner)).
		IfEquals(startedAttribute, dynamo.Millis(c.At)).
		IfEquals(foldedUpTo, dynamo.Millis(c.UpTo)).
		SetValue(foldedUpTo, dynamo.Millis(upTo))

	if wrong > 0 {
		update.Add(update.Name(countError) + " " + update.Value(dynamo.N(wrong)))
	}

	for i, name := range slices.Sorted(maps.Keys(by)) {
		placeholder := "#n" + strconv.Itoa(i)
		update.Alias(placeholder, name).Add(placeholder + " " + update.Value(dynamo.N(by[name])))
	}

	_, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, other := dynamo.FailedCondition(err); other {
		return nil // another process has added them, or a pass has replaced the count
	}

	if err != nil {
		return fmt.Errorf("processes: add moves to the count of orders: %w", err)
	}

	return nil
}
