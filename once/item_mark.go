package once

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// ItemWrite is an update of one item. [Claims.DoInItem] adds a mark to the item, which
// shows that the update was made.
type ItemWrite struct {
	Table string
	Key   map[string]types.AttributeValue
	// Set, Remove, Add and Delete are the clauses of the update expression, without their
	// keywords. Condition is the condition of the write itself. Names and values that begin
	// with #once_ and :once_ are reserved.
	Set, Remove, Add, Delete string
	Condition                string
	Names                    map[string]string
	Values                   map[string]types.AttributeValue
	// Result is kept in the mark and replayed: at most 256 bytes.
	Result []byte
	// Memory is how many marks the item keeps at most, 4 to 256. When it is full, the oldest
	// quarter is deleted. Each mark takes about 160 bytes of the item. Default 32.
	Memory int
}

// RefusedError says that the condition of the write itself failed. Item is the item that
// failed it, nil if there is none. Nothing was written.
type RefusedError struct {
	Item map[string]types.AttributeValue
}

func (*RefusedError) Error() string { return "the condition of the write failed" }

const (
	// markPrefix begins the attributes of marks, which are named by a digest of the key.
	markPrefix = "once#"
	markCount  = "once#count"
	// markSerial counts the marks that the item ever had. The number of a mark is a separate
	// attribute, whose name ends in serialSuffix: an update cannot set the mark, which is a
	// map, and compute a member of the map. The numbers show which mark is older. The callers'
	// clocks cannot, because they differ.
	markSerial   = "once#serial"
	serialSuffix = "#n"
	maxMark      = 256
	// maxDeleted bounds how many marks one write deletes: an expression has at most 4 KB.
	maxDeleted = 64

	minMemory, maxMemory, defaultMemory = 4, 256, 32
)

// DoInItem makes the write in one request, unless the item has the key's mark. It remembers
// at least the last three quarters of w.Memory keys. Effect and mark are one write, so no
// lease is needed. If w.Condition fails, DoInItem returns a [RefusedError].
func (c *Claims) DoInItem(ctx context.Context, key string, payload []byte, w ItemWrite) (result []byte, replayed bool, err error) {
	a, err := c.newAttempt(ctx, key, payload, 0)
	setDefault(&w.Memory, defaultMemory)

	switch {
	case err != nil:
	case a.keyEnded(c.clock.Now()):
		err = ErrKeyExpired
	default:
		a.invalid = cmp.Or(a.invalid, w.validate())
		result, replayed, err = c.writeMarked(ctx, a, w)
	}

	outcome := outcomeCompleted
	if replayed {
		outcome = Replayed
	}

	return result, replayed, c.observe("mark", key, outcome, err)
}

// validate checks what may differ between two sendings of a write. The item is asked first.
func (w ItemWrite) validate() error {
	switch {
	case w.Memory < minMemory || w.Memory > maxMemory:
		return fmt.Errorf("%w: memory: %d to %d marks, got %d", ErrInvalid, minMemory, maxMemory, w.Memory)
	case len(w.Result) > maxMark:
		return fmt.Errorf("%w: result: %d bytes, at most %d in a mark", ErrInvalid, len(w.Result), maxMark)
	}

	return nil
}

// markKinds are the types of a mark's members.
var markKinds = dynamo.Kinds{"p": "B", "c": "B", "at": "N", "r": "B"}

// markOf returns the mark under the name, nil if the item has none. It returns ErrCorrupt if the marks of the
// item cannot be read.
func markOf(item dynamo.Item, name string) (dynamo.Item, error) {
	counts := dynamo.Kinds{markCount: "N", markSerial: "N", name: "M"}
	if err := counts.Check(item); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}

	m, found := item[name].(*types.AttributeValueMemberM)
	if !found {
		return nil, nil //nolint:nilnil // no mark is a valid result
	}

	if err := markKinds.Check(m.Value); err != nil || m.Value["p"] == nil {
		return nil, fmt.Errorf("%w: a mark: %w", ErrCorrupt, cmp.Or(err, errors.New("it has no fingerprint")))
	}

	return m.Value, nil
}

// writeMarked sends the write with its mark. If the item has no room for another mark, it
// sends the write again with the deletion of the oldest marks.
func (c *Claims) writeMarked(ctx context.Context, a *attempt, w ItemWrite) (result []byte, replayed bool, err error) {
	digest := sha256.Sum256([]byte(a.key))
	name := markPrefix + base64.RawURLEncoding.EncodeToString(digest[:16])
	call := make([]byte, 8)
	_, _ = rand.Read(call) // never fails since Go 1.24

	mark := dynamo.Item{
		"p":  dynamo.B(a.fingerprint),
		"c":  dynamo.B(call),
		"at": dynamo.Millis(c.clock.Now()),
	}
	if w.Result != nil {
		mark["r"] = dynamo.B(w.Result)
	}

	var deleted []string
	room, refusal := w.Memory, a.invalid

	for range rounds {
		item, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
			if refusal == nil && a.keyEnded(c.clock.Now()) {
				refusal = ErrKeyExpired
			}

			if refusal != nil {
				return &types.ConditionalCheckFailedException{} // the item shows whether the write was made before
			}
			_, err := c.cfg.DynamoDB.UpdateItem(ctx, withoutImage(w.marked(name, mark, deleted, room)))

			return err
		})

		switch {
		case err != nil:
			return nil, false, unanswered(err)
		case !refused:
			return w.Result, false, nil
		}

		// There is no item, or the endpoint does not return it.
		if len(item) == 0 {
			out, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
				TableName:      &w.Table,
				Key:            w.Key,
				ConsistentRead: aws.Bool(true),
			})
			if err != nil {
				return nil, false, err
			}
			item = out.Item
		}

		switch m, err := markOf(item, name); {
		case err != nil:
			return nil, false, err
		case m == nil:
		case !a.matches(dynamo.Bytes(m, "p")):
			return nil, false, ErrMismatch
		case string(dynamo.Bytes(m, "c")) == string(call):
			return w.Result, false, nil // this call made the mark; the answer was lost
		default:
			return dynamo.Bytes(m, "r"), true, nil
		}

		if refusal != nil {
			return nil, false, refusal
		}

		// If the marks to delete exist and there is room, w.Condition has failed.
		count := int(dynamo.Number(item, markCount))
		missing := slices.ContainsFunc(deleted, func(n string) bool { return item[n] == nil })
		if count < room && !missing {
			return nil, false, &RefusedError{Item: item}
		}

		deleted = oldestMarks(item, w.Memory)
		room = w.Memory + len(deleted)
		// A memory that was made smaller shrinks over several writes.
		if len(deleted) == maxDeleted {
			room = max(room, count+1)
		}
	}

	return nil, false, c.inProgress(c.clock.Now())
}

// oldestMarks returns the names of the oldest quarter of a full memory.
func oldestMarks(item dynamo.Item, memory int) []string {
	type mark struct {
		name   string
		serial int64
	}

	var marks []mark
	for name, v := range item {
		if _, ok := v.(*types.AttributeValueMemberM); ok && strings.HasPrefix(name, markPrefix) {
			marks = append(marks, mark{name: name, serial: dynamo.Number(item, name+serialSuffix)})
		}
	}
	slices.SortFunc(marks, func(x, y mark) int { return cmp.Compare(x.serial, y.serial) })

	var oldest []string
	for _, m := range marks[:min(max(len(marks)-memory, 0)+memory/4, len(marks), maxDeleted)] {
		oldest = append(oldest, m.name)
	}

	return oldest
}

// marked returns the write with its mark, on condition that the item does not have the
// mark yet and has room for it. Each deleted mark makes room for one, so it must exist.
func (w ItemWrite) marked(name string, mark dynamo.Item, deleted []string, room int) *dynamo.Update {
	u := dynamo.NewUpdate(w.Table, w.Key).
		Alias("#once_mark", name).
		Alias("#once_count", markCount).
		Alias("#once_serial", markSerial).
		Alias("#once_number", name+serialSuffix).
		If("attribute_not_exists(#once_mark)").
		If("attribute_not_exists(#once_count) OR #once_count < :once_room").
		Set("#once_mark = :once_mark").
		Set("#once_count = if_not_exists(#once_count, :once_zero) + :once_delta").
		// Both assignments read the counter as it was before the write, so they get the same number.
		Set("#once_serial = if_not_exists(#once_serial, :once_zero) + :once_one").
		Set("#once_number = if_not_exists(#once_serial, :once_zero) + :once_one").
		Bind(":once_mark", dynamo.M(mark)).
		Bind(":once_one", dynamo.N(1)).
		Bind(":once_zero", dynamo.N(0)).
		Bind(":once_delta", dynamo.N(int64(1-len(deleted)))).
		Bind(":once_room", dynamo.N(int64(room)))

	for i, old := range deleted {
		placeholder := "#once_" + strconv.Itoa(i)
		u.Alias(placeholder, old).
			Alias(placeholder+"_n", old+serialSuffix).
			If("attribute_exists(" + placeholder + ")").
			Remove(placeholder).
			Remove(placeholder + "_n")
	}

	for placeholder, attribute := range w.Names {
		u.Alias(placeholder, attribute)
	}

	for placeholder, v := range w.Values {
		u.Bind(placeholder, v)
	}

	if w.Condition != "" {
		// In parentheses, because an OR in w.Condition would bypass the mark.
		u.If("(" + w.Condition + ")")
	}

	for _, section := range []struct {
		clauses string
		add     func(string) *dynamo.Update
	}{{w.Set, u.Set}, {w.Remove, u.Remove}, {w.Add, u.Add}, {w.Delete, u.Delete}} {
		if section.clauses != "" {
			section.add(section.clauses)
		}
	}

	return u
}
