package notify

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Status is the state of a delivery.
type Status string

// The statuses of deliveries.
const (
	Pending   Status = "PENDING"
	Delivered Status = "DELIVERED"
	Missed    Status = "MISSED"
	Skipped   Status = "SKIPPED"
)

// Delivery is the record of one notification for one endpoint.
type Delivery struct {
	Notification
	Endpoint string `json:"endpoint"`
	Status   Status `json:"status"`
	// Attempts counts the attempts that have begun since the last resend.
	Attempts int `json:"attempts"`
	// NextTry is when a PENDING delivery is tried next. While an attempt runs, it is when the
	// attempt's lease ends.
	NextTry time.Time `json:"nextTry,omitzero"`
	// Answer is the status of the far side's newest answer, 0 without an answer. Response is the
	// beginning of that answer, Error says why the newest attempt failed. Each has at most 1 KiB
	// and contains no secret of the endpoint.
	Answer   int    `json:"answer,omitempty"`
	Response string `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
	// CreatedAt is when the record was written, TriedAt the end of the newest attempt.
	CreatedAt time.Time `json:"createdAt"`
	TriedAt   time.Time `json:"triedAt,omitzero"`
	// Resends counts how often the delivery was sent again on request.
	Resends int `json:"resends,omitempty"`
	// Tries are the last attempts that have ended, oldest first, at most 20. Lists of an endpoint's deliveries lack
	// them.
	Tries []Try `json:"tries,omitempty"`

	tried  int  // counts the attempts that were noted
	newest *Try // to be noted by the next write

	generation string // of the endpoint
	version    int64  // counts the writes of the record
	call       string // names the newest write
}

// ID names the delivery: orderId/incarnation/transitionId/endpoint. A replay or another group has
// a delivery of its own, whose id ends with a slash and the end of its key.
func (d Delivery) ID() string {
	id := fmt.Sprintf("%s/%s/%d/%s", ids.Encode(string(d.OrderID)), d.Incarnation, d.TransitionID, d.Endpoint)
	if again := d.repeat(); again != "" {
		id += "/" + again
	}

	return id
}

// ended reports whether no further attempt is made.
func (d Delivery) ended() bool { return d.Status != Pending }

var deliveryIDRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^/]+)/([0-9a-v]{1,13})/([0-9]{1,19})/([A-Za-z0-9_:-]{1,85})(?:/(.+))?$`)
})

// parseID returns the key of the delivery that an id names.
func parseID(id string) (dynamo.Item, error) {
	parts := deliveryIDRule().FindStringSubmatch(id)
	if parts == nil {
		return nil, fmt.Errorf("%w: delivery %q: must be ORDER/INCARNATION/TRANSITION/ENDPOINT", ErrInvalid, id)
	}

	order, ok := ids.Decode(parts[1])
	if !ok || !ids.Valid(order) {
		return nil, fmt.Errorf("%w: delivery %q: the order's id is not encoded as Ratchet prints it", ErrInvalid, id)
	}

	n, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: delivery %q: the transition is too large", ErrInvalid, id)
	}

	return deliveryItemKey(order, parts[4], transitions.Incarnation(parts[2]), n, parts[5]), nil
}

// Attributes of a delivery's item.
const (
	deliveryOrder = "orderId"
	deliveryName  = "delivery" // <endpoint>#<incarnation>#<transition, 19 digits>

	deliveryKeyAttribute = "key"
	deliveryState        = "state"
	deliveryEvent        = "event"
	deliveryFrom         = "from"
	deliveryAt           = "at"
	deliveryRecorded     = "recordedAt"
	deliveryNamed        = "named"
	deliveryAttributes   = "attributes"
	deliveryCause        = "cause" // as JSON
	deliveryStatus       = "status"
	deliveryAttempts     = "attempts"
	deliveryAnswer       = "answer"
	deliveryResponse     = "response"
	deliveryError        = "error"
	deliveryCreated      = "createdAt"
	deliveryTried        = "triedAt"
	deliveryResends      = "resends"
	deliveryVersion      = "version"
	deliveryCall         = "call"
	deliveryGeneration   = "generation"

	// The key of the index. Only deliveries that are PENDING or MISSED have it.
	deliveryQueue = "queue"
	deliveryDue   = "due"

	// DeliveryExpiryAttribute is the attribute of the table's time to live.
	DeliveryExpiryAttribute = "expiresAt"
	// queueIndex is the index of the queues.
	queueIndex = "queue"

	// retention is how long a record is kept after the delivery has ended. While a delivery is PENDING,
	// its record does not expire.
	retention = 30 * 24 * time.Hour
	// queueShards spreads the writes of an endpoint's queue over partitions.
	queueShards = 4
)

// DeliveryTableInput describes the table of deliveries.
func DeliveryTableInput(name string) *dynamodb.CreateTableInput {
	in := dynamo.Table(name, dynamo.TextKey(deliveryOrder), dynamo.TextKey(deliveryName))
	in.AttributeDefinitions = append(in.AttributeDefinitions,
		types.AttributeDefinition{AttributeName: aws.String(deliveryQueue), AttributeType: types.ScalarAttributeTypeS},
		types.AttributeDefinition{AttributeName: aws.String(deliveryDue), AttributeType: types.ScalarAttributeTypeN})
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: aws.String(queueIndex),
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(deliveryQueue), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(deliveryDue), KeyType: types.KeyTypeRange},
		},
		// All but the attempts, the newest call, the expiry and what the sort key says, too: an index projects at
		// most 20 attributes by name.
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{
			deliveryKeyAttribute, deliveryState, deliveryEvent, deliveryFrom, deliveryAt, deliveryRecorded, deliveryAttributes, deliveryCause,
			deliveryStatus, deliveryAttempts, deliveryAnswer, deliveryResponse, deliveryError, deliveryCreated, deliveryTried,
			deliveryResends, deliveryVersion, deliveryGeneration, deliveryCount,
		}},
	}}

	return in
}

// deliveryItemKey returns the key of a delivery's item. A replay or another group has an item of its
// own for the same transition: again is the end of its key.
func deliveryItemKey(order, endpoint string, life transitions.Incarnation, transition int64, again string) dynamo.Item {
	name := fmt.Sprintf("%s#%s#%019d", endpoint, life, transition)
	if again != "" {
		name += "#" + again
	}

	return dynamo.Item{deliveryOrder: dynamo.S(order), deliveryName: dynamo.S(name)}
}

func (d Delivery) itemKey() dynamo.Item {
	return deliveryItemKey(string(d.OrderID), d.Endpoint, d.Incarnation, int64(d.TransitionID), d.repeat())
}

// queue returns the name of the delivery's queue: an endpoint has queues for PENDING and for MISSED
// deliveries.
func (d Delivery) queue() string { return queueName(d.Endpoint, d.Status, d.shard()) }

func (d Delivery) shard() int { return dynamo.Shard(string(d.OrderID), queueShards) }

func queueName(endpoint string, status Status, shard int) string {
	if status == Missed {
		return fmt.Sprintf("%s#missed#%d", endpoint, shard)
	}

	return fmt.Sprintf("%s#%d", endpoint, shard)
}

// queuedAt is the time by which the delivery is sorted in its queue: the next try, or the time of
// the transition if the delivery is MISSED.
func (d Delivery) queuedAt() time.Time {
	if d.Status == Missed {
		return d.At
	}

	return d.NextTry
}

// encode returns the item of a delivery.
func (d Delivery) encode(now time.Time) dynamo.Item {
	item := d.itemKey()
	// The transition's time is stored in nanoseconds, so that every attempt sends the same time.
	maps.Copy(item, dynamo.Item{
		deliveryKeyAttribute: dynamo.S(d.Key),
		deliveryState:        dynamo.S(string(d.State)),
		deliveryEvent:        dynamo.S(string(d.Event)),
		deliveryFrom:         dynamo.S(string(d.From)),
		deliveryAt:           dynamo.N(d.At.UnixNano()),
		deliveryAttempts:     dynamo.N(int64(d.Attempts)),
		deliveryCreated:      dynamo.Millis(d.CreatedAt),
		deliveryVersion:      dynamo.N(d.version),
		deliveryCall:         dynamo.S(d.call),
	})

	if !d.RecordedAt.IsZero() {
		item[deliveryRecorded] = dynamo.Millis(d.RecordedAt)
	}

	if d.Named {
		item[deliveryNamed] = dynamo.Bool(true)
	}

	if len(d.Attributes) > 0 {
		attributes := dynamo.Item{}
		for name, value := range d.Attributes {
			attributes[name] = dynamo.S(value)
		}
		item[deliveryAttributes] = dynamo.M(attributes)
	}

	if d.Cause != (transitions.Cause{}) {
		text, err := json.Marshal(d.Cause)
		if err != nil {
			panic(err) // it has only strings
		}
		item[deliveryCause] = dynamo.S(string(text))
	}

	maps.Copy(item, d.outcome(now))

	return item
}

// outcome returns the attributes that an attempt changes.
func (d Delivery) outcome(now time.Time) dynamo.Item {
	item := dynamo.Item{deliveryStatus: dynamo.S(string(d.Status)), deliveryGeneration: dynamo.S(d.generation)}
	if d.ended() {
		item[DeliveryExpiryAttribute] = dynamo.Seconds(now.Add(retention))
	}

	if d.Status == Pending || d.Status == Missed {
		// Only these deliveries are in the index; the others cost it nothing.
		item[deliveryQueue], item[deliveryDue] = dynamo.S(d.queue()), dynamo.Millis(d.queuedAt())
	}

	if !d.TriedAt.IsZero() {
		item[deliveryTried] = dynamo.Millis(d.TriedAt)
	}

	if d.Answer != 0 {
		item[deliveryAnswer] = dynamo.N(int64(d.Answer))
	}

	if d.Response != "" {
		item[deliveryResponse] = dynamo.S(d.Response)
	}

	if d.Error != "" {
		item[deliveryError] = dynamo.S(d.Error)
	}

	if d.newest != nil {
		item[deliveryCount], item[tryAttribute(d.tried)] = dynamo.N(int64(d.tried)), dynamo.S(d.newest.encode())
	}

	return item
}

// named returns what the sort key says of a delivery.
func named(item dynamo.Item) (endpoint string, life transitions.Incarnation, transition transitions.TransitionID) {
	parts := strings.SplitN(dynamo.Text(item, deliveryName), "#", 4)
	if len(parts) < 3 {
		return "", "", 0
	}
	n, _ := strconv.ParseInt(parts[2], 10, 64)

	return parts[0], transitions.Incarnation(parts[1]), transitions.TransitionID(n)
}

func decodeDelivery(item dynamo.Item) Delivery {
	endpoint, life, transition := named(item)

	d := Delivery{
		Notification: Notification{
			Key:          dynamo.Text(item, deliveryKeyAttribute),
			OrderID:      transitions.OrderID(dynamo.Text(item, deliveryOrder)),
			Incarnation:  life,
			TransitionID: transition,
			State:        workflow.State(dynamo.Text(item, deliveryState)),
			At:           time.Unix(0, dynamo.Number(item, deliveryAt)).UTC(),
			RecordedAt:   dynamo.Time(item, deliveryRecorded),
			Named:        dynamo.Flag(item, deliveryNamed),
			Event:        workflow.Event(dynamo.Text(item, deliveryEvent)),
			From:         workflow.State(dynamo.Text(item, deliveryFrom)),
		},
		Endpoint:   endpoint,
		Status:     Status(dynamo.Text(item, deliveryStatus)),
		Attempts:   int(dynamo.Number(item, deliveryAttempts)),
		Answer:     int(dynamo.Number(item, deliveryAnswer)),
		Response:   dynamo.Text(item, deliveryResponse),
		Error:      dynamo.Text(item, deliveryError),
		CreatedAt:  dynamo.Time(item, deliveryCreated),
		TriedAt:    dynamo.Time(item, deliveryTried),
		Resends:    int(dynamo.Number(item, deliveryResends)),
		tried:      int(dynamo.Number(item, deliveryCount)),
		generation: dynamo.Text(item, deliveryGeneration),
		version:    dynamo.Number(item, deliveryVersion),
		call:       dynamo.Text(item, deliveryCall),
	}
	// In a MISSED delivery this attribute is the time of the transition.
	if d.Status == Pending {
		d.NextTry = dynamo.Time(item, deliveryDue)
	}

	d.Tries = decodeTries(item, d)

	// A cause that cannot be read is left out: nothing depends on it.
	if text := dynamo.Text(item, deliveryCause); text != "" && json.Unmarshal([]byte(text), &d.Cause) != nil {
		d.Cause = transitions.Cause{}
	}

	if attributes, ok := item[deliveryAttributes].(*types.AttributeValueMemberM); ok {
		d.Attributes = map[string]string{}
		for name := range attributes.Value {
			d.Attributes[name] = dynamo.Text(attributes.Value, name)
		}
	}

	return d
}
