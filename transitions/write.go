package transitions

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/workflow"
)

// write is one conditional update, ready to be sent any number of times.
type write struct {
	request Request
	id      TransitionID
	group   workflow.Group
	trace   int
	version int   // the order must be of this version; 0: of any that is known
	load    *load // what a parcel changes beside, nil for none
	call    string
	at      time.Time
}

// prepare fixes everything that must not change between two sendings.
func (o *Orders) prepare(r Request, id TransitionID, group workflow.Group, trace int) write {
	return write{request: r, id: id, group: group, trace: trace, call: nonce(), at: o.cfg.Now()}
}

// nonce names one call: 72 random bits of the runtime's ChaCha8, which is seeded by the
// system. It need not be secret, only another for every call.
func nonce() string {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], mrand.Uint64())  //nolint:gosec // see above
	binary.LittleEndian.PutUint64(b[8:], mrand.Uint64()) //nolint:gosec // see above
	return base64.RawURLEncoding.EncodeToString(b[:9])
}

// values are what the update sets.
func (o *Orders) values(w write) image {
	values := image{
		":to": dynamo.S(string(w.group.To)), ":id": dynamo.N(int64(w.id)), ":version": o.version,
		":at": dynamo.N(w.at.UnixMilli()), ":slot": w.slot(),
	}
	if w.trace != traceNone {
		values[":req"] = w.request.RequestID.digest().value()
	}

	return values
}

// input builds the UpdateItem of the write.
func (o *Orders) input(w write) (*dynamodb.UpdateItemInput, error) {
	values := o.values(w)

	condition, names, err := w.guarded(o.condition(w, values), values)
	if err != nil {
		return nil, err
	}
	update, names := w.expression(names, values)

	return &dynamodb.UpdateItemInput{
		TableName:                           &o.cfg.Table,
		Key:                                 image{"orderId": dynamo.S(string(w.request.OrderID))},
		ConditionExpression:                 &condition,
		UpdateExpression:                    update,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, nil
}

// condition guards the write by the states that it may leave, the version of their
// definition and the id; with IfMatch by the very id that the caller has seen.
func (o *Orders) condition(w write, values image) string {
	from := w.group.From
	for i, s := range from {
		values[o.sources.names[i]] = dynamo.S(string(s))
	}

	id := "(attribute_not_exists(transitionId) OR transitionId < :id)"
	if seen := w.request.IfMatch; seen != nil {
		values[":seen"] = dynamo.N(int64(*seen))
		id = isOrAbsent("transitionId", ":seen", *seen == 0)
	}

	unused := ""
	if w.trace != traceNone {
		unused = unusedKey
	}

	return o.sources.conditions[len(from)] + " AND " + id + " AND " + o.ofVersion(w.version, values) + unused
}

// sources are the texts about the states that a write may leave: their placeholders,
// and by their number the condition that the order is in one of them.
type sources struct{ names, conditions []string }

func newSources(most int) (s sources) {
	for i := range most {
		s.names = append(s.names, ":from"+strconv.Itoa(i))
	}

	for n := range most + 1 {
		s.conditions = append(s.conditions, "attribute_exists(orderId) AND orderState IN ("+strings.Join(s.names[:n], ", ")+")")
	}

	return s
}

// send sends the write until DynamoDB has decided. It returns the new image when
// the condition held, or the old one (nil for no item) when it did not.
func (o *Orders) send(ctx context.Context, w write) (newImage image, oldImage image, err error) {
	input, err := o.input(w)
	if err != nil {
		return nil, nil, err
	}

	return o.update(ctx, input, w.request.OrderID, "recent")
}

// update sends an UpdateItem until DynamoDB has decided, as send does. An order that
// lacks the map into which the update writes is given it.
func (o *Orders) update(ctx context.Context, input *dynamodb.UpdateItemInput, id OrderID, into string) (newImage image, oldImage image, err error) {
	adopted := false
	for attempt := 1; ; attempt++ {
		out, err := o.cfg.DynamoDB.UpdateItem(ctx, input)
		if err == nil {
			return out.Attributes, nil, nil
		}

		var failed *types.ConditionalCheckFailedException
		switch {
		case errors.As(err, &failed):
			return nil, failed.Item, nil
		case !adopted && mapMissing(err):
			adopted = true

			if err := o.adopt(ctx, id, into); err != nil {
				return nil, nil, err
			}
		case !ambiguous(ctx, err):
			return nil, nil, err
		case attempt == o.cfg.Attempts:
			return nil, nil, errors.Join(ErrOutcomeUnknown, err)
		default:
			if !pause(ctx, attempt) {
				return nil, nil, errors.Join(ErrOutcomeUnknown, context.Cause(ctx), err)
			}
		}
	}
}

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// ambiguous reports whether the write may have been made although it failed, or
// may be made later: time-outs, lost answers, throttling, server faults. The SDK
// has then already retried on its own. TransactionConflict is retried by nobody
// else (aws-sdk-go-v2 leaves it to the caller).
func ambiguous(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	var conflict *types.TransactionConflictException

	return errors.As(err, &conflict) || retryables.IsErrorRetryable(err).Bool()
}

// unanswered marks a read that failed in a way that may pass.
func unanswered(ctx context.Context, err error) error {
	if ambiguous(ctx, err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// pause waits before the next attempt, with full jitter up to 25 ms * 2^attempt,
// at most 1 s. It reports false when ctx ends first.
func pause(ctx context.Context, attempt int) bool {
	limit := min(25*time.Millisecond<<min(attempt, 6), time.Second)
	return worker.WaitJitter(ctx, limit)
}

// mapMissing recognises the refusal of an update whose document path leads
// through a map that the item does not have.
func mapMissing(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" &&
		strings.Contains(api.ErrorMessage(), "document path")
}

// adopt gives an order that somebody else created the map that an update writes into.
// It changes nothing else and may run any number of times.
func (o *Orders) adopt(ctx context.Context, id OrderID, name string) error {
	update, exists := "SET "+name+" = if_not_exists("+name+", :empty)", "attribute_exists(orderId)"
	_, err := o.cfg.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &o.cfg.Table, Key: image{"orderId": dynamo.S(string(id))},
		UpdateExpression: &update, ConditionExpression: &exists,
		ExpressionAttributeValues: image{":empty": dynamo.M(image{})},
	})

	return err
}
