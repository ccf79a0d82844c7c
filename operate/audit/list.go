package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// ErrInvalid says that a filter breaks a rule. The text names field and rule.
var ErrInvalid = errors.New("audit")

const (
	// maxDays is how many days one list may cover, pagesPerCall how many reads one call makes.
	maxDays      = 1000
	pagesPerCall = 50
	// readSize is how many rows one read evaluates.
	readSize = 500
)

// Filter selects rows. Since must be set; the other fields select everything if they are empty.
type Filter struct {
	// Since is included, Until is not. Until defaults to a minute from now, because clocks differ.
	// They are at most 1000 days apart.
	Since, Until time.Time
	// Who and Act are whole texts; On is a part of Entry.On, such as an order's id. Begun keeps acts
	// without a result.
	Who, Act, On string
	Begun        bool
	// Tenant, if it is not nil, keeps only acts of that tenant.
	Tenant *string
}

func (f Filter) matches(e Entry) bool {
	return !e.At.Before(f.Since) && e.At.Before(f.Until) &&
		(f.Who == "" || f.Who == e.Who) &&
		(f.Act == "" || f.Act == e.Act) &&
		strings.Contains(e.On, f.On) &&
		(!f.Begun || e.Result == Begun) &&
		(f.Tenant == nil || *f.Tenant == e.Tenant)
}

// List returns up to limit rows that the filter selects, oldest first. The page begins behind the
// cursor after, which is "" for the first page. A page may be shorter than the limit, even empty,
// and have a next one: one call makes at most 50 reads. next is "" at the end.
func (l *Log) List(ctx context.Context, f Filter, after string, limit int) (found []Entry, next string, err error) {
	now := time.Now()

	switch {
	case f.Until.IsZero():
		f.Until = now.Add(time.Minute)
	case !f.Until.After(f.Since):
		return nil, "", fmt.Errorf("%w: until %s: must be after since", ErrInvalid, f.Until.UTC().Format(time.RFC3339Nano))
	}

	place, err := f.start(after, limit)
	if err != nil {
		return nil, "", err
	}

	end := placeOf(f.Until)

	for range pagesPerCall {
		// Places begin with the time, so the first place that is not before Until ends the list.
		if place >= end {
			return found, "", nil
		}

		rows, more, err := l.readDay(ctx, place)
		if err != nil {
			return nil, "", err
		}

		for _, row := range rows {
			place = dynamo.Text(row, placeKey)

			e := entryOf(row)
			// DynamoDB removes an expired item up to days later, so expired rows are left out here.
			if dynamo.Number(row, ExpiryAttribute) <= now.Unix() || !f.matches(e) {
				continue
			}

			if found = append(found, e); len(found) == limit {
				return found, place, nil
			}
		}

		if !more {
			if place, err = nextDay(place); err != nil {
				return nil, "", err
			}
		}
	}

	return found, place, nil
}

// start checks the filter and returns the place behind which its rows begin.
func (f Filter) start(after string, limit int) (string, error) {
	switch {
	case limit < 1 || limit > 1000:
		return "", fmt.Errorf("%w: limit %d: 1 to 1000", ErrInvalid, limit)
	case f.Since.IsZero():
		return "", fmt.Errorf("%w: since: must be set", ErrInvalid)
	case f.Until.Sub(f.Since) > maxDays*24*time.Hour:
		return "", fmt.Errorf("%w: since %s: at most %d days before the end", ErrInvalid, f.Since.UTC().Format(time.RFC3339), maxDays)
	}

	if after == "" {
		// The place of a row has random text behind its time, so a row of exactly this moment is
		// listed.
		return placeOf(f.Since), nil
	}

	if _, err := nextDay(after); err != nil {
		return "", fmt.Errorf("%w: after %q: not a cursor of this list", ErrInvalid, after)
	}

	// A cursor from a list with an earlier Since must not widen this list.
	return max(after, placeOf(f.Since)), nil
}

// readDay returns rows behind the place, of its day, and whether the day has more.
func (l *Log) readDay(ctx context.Context, place string) (rows []dynamo.Item, more bool, err error) {
	day, _, _ := strings.Cut(place, "T")

	out, err := l.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{
		TableName:                 &l.cfg.Table,
		KeyConditionExpression:    ptr("#day = :day AND #place > :place"),
		ExpressionAttributeNames:  map[string]string{"#day": dayKey, "#place": placeKey},
		ExpressionAttributeValues: dynamo.Item{":day": dynamo.S(day), ":place": dynamo.S(place)},
		ConsistentRead:            ptr(true),
		Limit:                     ptr(int32(readSize)),
	})
	if err != nil {
		return nil, false, fmt.Errorf("audit: read the acts of %s: %w", day, err)
	}

	return out.Items, len(out.LastEvaluatedKey) > 0, nil
}

// nextDay returns the place before all rows of the day after the place.
func nextDay(place string) (string, error) {
	text, _, _ := strings.Cut(place, "T")

	day, err := time.Parse(dayLayout, text)
	if err != nil {
		return "", err
	}

	// A place without a time sorts before every row of its day.
	return dayOf(day.AddDate(0, 0, 1)) + "T", nil
}
