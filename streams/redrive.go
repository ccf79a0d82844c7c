package streams

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// DeadLetters is the dead-letter table for the people and tools that look after
// it. Both fields must be set.
type DeadLetters struct {
	DynamoDB dynamoAPI
	Table    string
}

// List returns up to limit letters of a handler behind the id after ("" for the
// first), in the order of their ids, and the id to go on from, "" at the end.
func (d DeadLetters) List(ctx context.Context, handler, after string, limit int) (letters []DeadLetter, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName: &d.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": letterSource, "#p": letterPart},
		ExpressionAttributeValues: item{":s": avS(source(handler))},
		FilterExpression:          aws.String("attribute_not_exists(#p)"),
	}
	if after != "" {
		in.ExclusiveStartKey = letterKey(handler, after)
	}

	for {
		out, err := d.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("streams: list dead letters of %s: %w", handler, err)
		}

		for _, it := range out.Items {
			l, err := decodeLetter(it)
			if err != nil {
				return nil, "", err
			}

			if letters = append(letters, l); len(letters) == limit {
				return letters, l.ID, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return letters, "", nil
		}
	}
}

// Get returns one letter with its record, or ErrNoLetter.
func (d DeadLetters) Get(ctx context.Context, handler, id string) (DeadLetter, error) {
	t := &letterTable{d.DynamoDB, d.Table}

	it, err := t.get(ctx, handler, id)
	if err != nil {
		return DeadLetter{}, err
	}

	l, err := decodeLetter(it)
	if err != nil || l.Record != nil {
		return l, err
	}

	body, err := t.parts(ctx, handler, id, int(num(it, letterParts)))
	if err != nil {
		return l, err
	}
	r, err := decodeRecord(body)
	l.Record = &r

	return l, err
}

// Drop deletes a letter unhandled. Dropping one that is not there is no error.
func (d DeadLetters) Drop(ctx context.Context, handler, id string) error {
	t := &letterTable{d.DynamoDB, d.Table}

	it, err := t.get(ctx, handler, id)
	if errors.Is(err, ErrNoLetter) {
		return nil
	}

	if err != nil {
		return err
	}
	// The letter goes first: without it, its parts are not seen.
	for i := range int(num(it, letterParts)) + 1 {
		key := letterKey(handler, id)
		if i > 0 {
			key = letterKey(handler, partID(id, i))
		}

		if _, err := d.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &d.Table, Key: key}); err != nil {
			return fmt.Errorf("streams: delete dead letter %s of %s: %w", id, handler, err)
		}
	}

	return nil
}

// ErrRedriving says that somebody else is redriving the letter at the moment.
var ErrRedriving = errors.New("streams: dead letter is being redriven")

// Redrive calls h once with the letter's record and deletes the letter when h
// returns nil; otherwise it notes the new error and returns it. Of several
// redrives of one letter at once, one goes on and the others get ErrRedriving.
//
// The item may have moved on since, and live records of it may be handled at the
// same time: stale, where given, is asked first and refuses with a reason; h
// itself must be idempotent, as ever.
func (d DeadLetters) Redrive(ctx context.Context, id string, h Handler, stale func(context.Context, Record) error) error {
	or(&h.Timeout, 30*time.Second)

	l, err := d.Get(ctx, h.Name, id)
	if err != nil {
		return err
	}

	rec := *l.Record
	rec.Handler, rec.Attempt = h.Name, l.Attempts+l.Redrives+1
	if stale != nil {
		if err := stale(ctx, rec); err != nil {
			return fmt.Errorf("streams: redrive of %s refused: %w", id, err)
		}
	}

	if err := d.claim(ctx, h, id); err != nil {
		return err
	}

	if err := callOnce(ctx, h, rec); err != nil {
		return errors.Join(fmt.Errorf("streams: redrive %s of %s: %w", id, h.Name, err), d.failed(context.WithoutCancel(ctx), h, id, l, err))
	}

	return d.Drop(context.WithoutCancel(ctx), h.Name, id)
}

// claim keeps other redrives out for as long as the call may take.
func (d DeadLetters) claim(ctx context.Context, h Handler, id string) error {
	now := time.Now()
	u := newChange(d.Table, letterKey(h.Name, id))
	u.present(letterID)
	u.cond += " AND (attribute_not_exists(" + u.name(letterClaim) + ") OR " + u.name(letterClaim) + " < " + u.value(avN(now.UnixMilli())) + ")"
	u.set(letterClaim, avN(now.Add(h.Timeout+10*time.Second).UnixMilli()))

	it, refused, err := u.apply(ctx, d.DynamoDB)
	switch {
	case err != nil:
		return fmt.Errorf("streams: claim dead letter %s: %w", id, err)
	case refused && it == nil:
		return fmt.Errorf("%w: %s of %s", ErrNoLetter, id, h.Name)
	case refused:
		return fmt.Errorf("%w: %s of %s", ErrRedriving, id, h.Name)
	}

	return nil
}

func (d DeadLetters) failed(ctx context.Context, h Handler, id string, l DeadLetter, cause error) error {
	u := newChange(d.Table, letterKey(h.Name, id))
	u.present(letterID)
	u.set(letterError, avS(errorText(cause)))
	u.set(letterPermanent, avBool(IsPermanent(cause)))
	u.set(letterFailedAt, avN(time.Now().UnixMilli()))
	u.set(letterRedrives, avN(int64(l.Redrives+1)))
	u.remove(letterClaim)
	_, _, err := u.apply(ctx, d.DynamoDB)

	return err
}

// callOnce calls a handler on a goroutine of its own, so that runtime.Goexit
// ends nothing but the call.
func callOnce(ctx context.Context, h Handler, r Record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout, ErrTimeout)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		returned := false
		var err error
		defer func() {
			if !returned {
				err = &PanicError{Value: recover(), Stack: debug.Stack()}
			}
			result <- err
		}()
		err = h.Handle(ctx, r)
		returned = true
	}()

	return <-result
}
