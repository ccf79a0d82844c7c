package dynamodb

import (
	"context"
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/expression"
)

// The limits of batch requests.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
// and API_BatchWriteItem.html
const (
	maxBatchGets     = 100
	maxBatchWrites   = 25
	maxBatchResponse = 16 << 20 // bytes of items
)

type keysAndAttributes struct {
	Keys                     []attr.Item
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
	AttributesToGet          []string
}

type batchGetIn struct {
	RequestItems           map[string]keysAndAttributes
	ReturnConsumedCapacity string
}

func (s *Service) batchGet(_ context.Context, in *batchGetIn) (any, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	// In a fixed order, so that the same request always gets the same answer or error.
	names := slices.Sorted(maps.Keys(in.RequestItems))
	count := 0
	drafts := make([]*expression.Projection, len(names))
	for i, name := range names {
		var err error
		r := in.RequestItems[name]
		if drafts[i], err = r.draft(); err != nil {
			return nil, err
		}

		if count += len(r.Keys); count > maxBatchGets {
			return nil, invalid("Too many items requested for the BatchGetItem call")
		}
	}

	b := &batchAnswer{sum: capacity.Sum{}}
	for i, name := range names {
		if err := s.readBatch(b, name, in.RequestItems[name], drafts[i]); err != nil {
			return nil, err
		}
	}
	out := answer.New(len(b.responses) + len(b.unprocessed) + 64)
	out.Raw("Responses", append(append([]byte{'{'}, b.responses...), '}'))
	out.Raw("UnprocessedKeys", append(append([]byte{'{'}, b.unprocessed...), '}'))
	capacity.AddSum(out, in.ReturnConsumedCapacity, b.sum, "")

	return out.Done(), nil
}

// constrain checks the members against the API model.
func (in *batchGetIn) constrain(s *Service) error {
	c := model.Constraints{Alone: wordsOfBatchGet}
	in.constrainItems(&c, s)
	c.Capacity(in.ReturnConsumedCapacity)

	return c.Err()
}

// wordsOfBatchGet returns the words for no tables, and for a wrong number of keys.
// Source: https://github.com/nubo-db/dynamodb-conformance tests/tier3/error-messages/batchGetItem.test.ts,
// recorded on the service
func wordsOfBatchGet(b model.Breach) string {
	if b.Value == noTables {
		return "The requestItems parameter is required for BatchGetItem"
	}

	at, isKeys := strings.CutSuffix(b.Member, ".keys")
	if !isKeys || b.Value == "null" {
		return ""
	}

	return b.Unquoted("RequestItems" + strings.TrimPrefix(at, "requestItems") + ".Keys")
}

// noTables is RequestItems without members as messages quote it.
const noTables = "'{}'"

func (in *batchGetIn) constrainItems(c *model.Constraints, s *Service) {
	switch {
	case in.RequestItems == nil:
		c.Missing("requestItems")
	case len(in.RequestItems) == 0:
		c.Length(0, "{}", "requestItems", 1, model.MaxName)
	}

	names := slices.Sorted(maps.Keys(in.RequestItems))

	// One breach for all names, because the message quotes the whole map.
	if slices.ContainsFunc(names, s.isNoTableName) {
		c.Broke("'"+in.itemsText(names)+"'", "requestItems", "Map keys must satisfy constraint: "+mapKeyRules)
	}

	for _, name := range names {
		r := in.RequestItems[name]
		at := "requestItems." + name + ".member."
		c.Count(len(r.Keys), r.Keys == nil, at+"keys", maxBatchGets)
		c.AttributesToGet(r.AttributesToGet, at+"attributesToGet")
	}
}

// mapKeyRules are the rules of the names of tables in a map.
const mapKeyRules = "[Member must have length less than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression pattern: " + model.NamePattern + "]"

// isNoTableName reports whether the text can be neither a table's name nor its ARN.
func (s *Service) isNoTableName(name string) bool {
	_, err := s.tables.TableName(&name)
	return err != nil
}

// itemsText returns RequestItems as JSON.
func (in *batchGetIn) itemsText(names []string) string {
	b := &batchAnswer{}
	for _, name := range names {
		r := in.RequestItems[name]
		b.addUnprocessed(name, r, r.Keys)
	}

	return "{" + string(b.unprocessed) + "}"
}

// batchAnswer collects the members of Responses and UnprocessedKeys as JSON, and the cost by
// table.
type batchAnswer struct {
	responses, unprocessed []byte
	bytes                  int
	sum                    capacity.Sum
}

// draft checks the part of the request for one table, as far as it does not depend on the table, and
// returns its projection, nil for all.
func (r *keysAndAttributes) draft() (project *expression.Projection, err error) {
	err = legacy.RefuseMix([]legacy.Parameter{{Name: "AttributesToGet", Given: r.AttributesToGet != nil}}, []legacy.Parameter{{Name: "ProjectionExpression", Given: r.ProjectionExpression != nil}})
	if err != nil {
		return nil, err
	}

	names := references.Parameters{ExpressionAttributeNames: r.ExpressionAttributeNames}
	if err := names.Beside(r.ProjectionExpression != nil, true, ""); err != nil {
		return nil, err
	}

	if project, err = legacy.AttributesToGet(r.AttributesToGet); err != nil {
		return nil, err
	}

	if project == nil {
		if project, err = references.Projection(r.ProjectionExpression, r.ExpressionAttributeNames); err != nil {
			return nil, err
		}
	}

	seen := make(map[string]bool, len(r.Keys))
	for _, k := range r.Keys {
		if err := k.Err(); err != nil {
			return nil, err
		}

		// The table's key is not known yet, but equal keys have equal JSON.
		text := string(k.AppendJSON(nil))
		if seen[text] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[text] = true
	}

	return project, nil
}

// readBatch reads the items of one table into the answer, until the answer is full.
func (s *Service) readBatch(b *batchAnswer, name string, r keysAndAttributes, project *expression.Projection) error {
	t, err := s.tables.Lookup(&name)
	if err != nil {
		return err
	}

	// All keys are checked before the first item is read.
	keys := make([]keyspace.Primary, len(r.Keys))
	for i, k := range r.Keys {
		if keys[i], err = t.KeyOf(k); err != nil {
			return err
		}
	}

	if len(b.responses) > 0 {
		b.responses = append(b.responses, ',')
	}

	b.responses = append(answer.AppendText(b.responses, name), ':', '[')
	first := true
	for i, key := range keys {
		raw, err := s.read(t, key)
		if err != nil {
			return err
		}

		// From here on the answer is full: the sum stays above the limit, also for the tables that
		// follow, whose keys become unprocessed in the same way.
		if b.bytes += raw.Size(); b.bytes > maxBatchResponse {
			b.addUnprocessed(name, r, r.Keys[i:])
			break
		}
		units := capacity.Read(raw.Size(), r.ConsistentRead)
		s.charge(t.Name, units, 0)
		b.sum.Add(t.Name, capacity.OnTable(units))

		if raw == nil {
			continue
		}

		if !first {
			b.responses = append(b.responses, ',')
		}
		first = false

		if b.responses, err = raw.AppendProjected(b.responses, project); err != nil {
			return err
		}
	}
	b.responses = append(b.responses, ']')

	return nil
}

// addUnprocessed adds the keys of a table for which the answer has no room, in the form in
// which the caller can send them again.
func (b *batchAnswer) addUnprocessed(name string, r keysAndAttributes, keys []attr.Item) {
	if len(b.unprocessed) > 0 {
		b.unprocessed = append(b.unprocessed, ',')
	}
	out := answer.New(0)
	out.Name("Keys")

	out.Buf = append(out.Buf, '[')
	for i, k := range keys {
		if i > 0 {
			out.Buf = append(out.Buf, ',')
		}
		out.Buf = k.AppendJSON(out.Buf)
	}

	out.Buf = append(out.Buf, ']')

	// Members that the request does not have are left out.
	if r.ConsistentRead {
		out.Raw("ConsistentRead", []byte("true"))
	}

	if r.ProjectionExpression != nil {
		out.Text("ProjectionExpression", *r.ProjectionExpression)
	}

	if r.AttributesToGet != nil {
		out.Texts("AttributesToGet", r.AttributesToGet)
	}

	if len(r.ExpressionAttributeNames) > 0 {
		names := answer.New(0)
		for _, n := range slices.Sorted(maps.Keys(r.ExpressionAttributeNames)) {
			names.Text(n, r.ExpressionAttributeNames[n])
		}
		out.Raw("ExpressionAttributeNames", names.Done())
	}
	b.unprocessed = append(append(answer.AppendText(b.unprocessed, name), ':'), out.Done()...)
}
