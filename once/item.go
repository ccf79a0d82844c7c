package once

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// ItemWrite is an update of one item that leaves its own mark in it.
type ItemWrite struct {
	Table string
	Key   map[string]types.AttributeValue
	// Set, Remove, Add and Delete are the clauses of the update expression, without
	// their keywords. Condition is the write's own. Names and values that begin with
	// #once_ and :once_ are taken.
	Set, Remove, Add, Delete string
	Condition                string
	Names                    map[string]string
	Values                   map[string]types.AttributeValue
	// Result is kept in the mark and replayed: at most 256 bytes.
	Result []byte
	// Memory is how many marks the item holds at most, 4 to 256. When it is full, the
	// oldest quarter is forgotten. Default 32. Each takes about 120 bytes of the item.
	Memory int
}

// RefusedError says that the condition of the write itself failed, on this item; nil
// when there is none. Nothing was written.
type RefusedError struct {
	Item map[string]types.AttributeValue
}

func (*RefusedError) Error() string { return "the condition of the write failed" }

const (
	// markPrefix begins the attributes of marks; what follows is the key's digest.
	markPrefix = "once#"
	markCount  = "once#count"
	maxMark    = 256
	// forgetAtMost bounds how many marks one write forgets: expressions have 4 KB.
	forgetAtMost = 64
)

// DoInItem does the write, in one request, unless the item bears the key's mark. It
// remembers at least the last three quarters of w.Memory keys, and no lease is needed:
// effect and mark are one write. A refusal by w.Condition is a [RefusedError].
func (c *Claims) DoInItem(ctx context.Context, key string, payload []byte, w ItemWrite) (result []byte, replayed bool, err error) {
	a, err := c.newAttempt(key, payload, 0)
	set(&w.Memory, 32)

	switch now := c.cfg.Now(); {
	case err != nil:
	case !a.keyEnd.IsZero() && !now.Before(a.keyEnd):
		err = ErrKeyExpired
	case w.Memory < 4 || w.Memory > 256:
		err = fmt.Errorf("%w: memory: 4 to 256 marks, got %d", ErrInvalid, w.Memory)
	case len(w.Result) > maxMark:
		err = fmt.Errorf("%w: result: %d bytes, at most %d in a mark", ErrInvalid, len(w.Result), maxMark)
	default:
		replayed, result, err = c.mark(ctx, a, w, now)
	}

	outcome := Finished
	if replayed {
		outcome = Replayed
	}

	return result, replayed, c.tell("mark", key, outcome, err)
}

func (c *Claims) mark(ctx context.Context, a *attempt, w ItemWrite, now time.Time) (replayed bool, result []byte, err error) {
	digest := sha256.Sum256([]byte(a.key))
	name := markPrefix + base64.RawURLEncoding.EncodeToString(digest[:16])
	call := make([]byte, 8)
	_, _ = rand.Read(call) // never fails since Go 1.24

	body := image{"p": dynamo.B(a.print), "c": dynamo.B(call), "at": dynamo.N(now.UnixMilli())}
	if w.Result != nil {
		body["r"] = dynamo.B(w.Result)
	}

	var forget []string
	for range rounds {
		in := w.marked(name, body, forget)
		_, err := c.cfg.DynamoDB.UpdateItem(ctx, in)
		var failed *types.ConditionalCheckFailedException

		if err == nil {
			return false, w.Result, nil
		}

		if !errors.As(err, &failed) {
			return false, nil, err
		}

		item := failed.Item
		if len(item) == 0 {
			out, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &w.Table, Key: w.Key, ConsistentRead: aws.Bool(true)})
			if err != nil {
				return false, nil, err
			}
			item = out.Item
		}

		if m, ok := item[name].(*types.AttributeValueMemberM); ok {
			switch {
			case !a.matches(dynamo.Bytes(m.Value, "p")):
				return false, nil, ErrMismatch
			case string(dynamo.Bytes(m.Value, "c")) == string(call):
				return false, w.Result, nil // it was this very call; the answer was lost
			}

			return true, dynamo.Bytes(m.Value, "r"), nil
		}

		gone := slices.ContainsFunc(forget, func(n string) bool { return item[n] == nil })
		if dynamo.Number(item, markCount) < int64(w.Memory+len(forget)) && !gone { // there was room: it was w.Condition
			return false, nil, &RefusedError{Item: item}
		}
		forget = oldestMarks(item, w.Memory)
	}

	return false, nil, held{c.cfg.Now()}
}

// oldestMarks are those that make room: the oldest quarter of a full memory.
func oldestMarks(item image, memory int) []string {
	type mark struct {
		name string
		at   int64
	}
	var all []mark
	for name, v := range item {
		if m, ok := v.(*types.AttributeValueMemberM); ok && strings.HasPrefix(name, markPrefix) {
			all = append(all, mark{name, dynamo.Number(m.Value, "at")})
		}
	}
	slices.SortFunc(all, func(x, y mark) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.name, y.name)) })

	var oldest []string
	for _, m := range all[:min(max(len(all)-memory, 0)+memory/4, len(all), forgetAtMost)] {
		oldest = append(oldest, m.name)
	}

	return oldest
}

// marked is the write with its mark, on condition that the item does not bear it and
// has room; only marks that are really there make room.
func (w ItemWrite) marked(name string, body image, forget []string) *dynamodb.UpdateItemInput {
	aliases := map[string]string{"#once_mark": name, "#once_count": markCount}
	values := image{":once_mark": dynamo.M(body), ":once_zero": dynamo.N(0), ":once_delta": dynamo.N(int64(1 - len(forget))),
		":once_room": dynamo.N(int64(w.Memory))}
	maps.Copy(aliases, w.Names)
	maps.Copy(values, w.Values)

	condition := "attribute_not_exists(#once_mark) AND (attribute_not_exists(#once_count) OR #once_count < :once_room)"
	var remove []string
	for i, old := range forget {
		n := "#once_" + strconv.Itoa(i)
		aliases[n] = old
		condition += " AND attribute_exists(" + n + ")"
		remove = append(remove, n)
	}

	if len(forget) > 0 {
		values[":once_room"] = dynamo.N(int64(w.Memory + len(forget)))
	}

	if w.Condition != "" {
		condition += " AND (" + w.Condition + ")"
	}

	update := "SET #once_mark = :once_mark, #once_count = if_not_exists(#once_count, :once_zero) + :once_delta"
	if w.Set != "" {
		update += ", " + w.Set
	}

	if w.Remove != "" {
		remove = append(remove, w.Remove)
	}

	for _, c := range [][2]string{{" REMOVE ", strings.Join(remove, ", ")}, {" ADD ", w.Add}, {" DELETE ", w.Delete}} {
		if c[1] != "" {
			update += c[0] + c[1]
		}
	}

	return &dynamodb.UpdateItemInput{TableName: &w.Table, Key: w.Key, ConditionExpression: &condition, UpdateExpression: &update,
		ExpressionAttributeNames: aliases, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
}
