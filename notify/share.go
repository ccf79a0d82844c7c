package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Endpoints of the table, together with those that were removed within formerFor: of all tenants, and of one
// tenant. The tenant without a name, which is the operator's, has no share of its own.
const (
	maxEndpoints       = 1000
	maxTenantEndpoints = 100
)

const (
	// shareItem is the prefix of the keys of items that count the endpoints of a tenant; no endpoint's id has a #.
	// The item of AllTenants counts all.
	shareItem  = "share#"
	shareCount = "endpoints"
)

func isShare(item dynamo.Item) bool {
	return strings.HasPrefix(dynamo.Text(item, endpointKey), shareItem)
}

// share is an item that counts endpoints.
type share struct {
	tenant string
	most   int64
	full   error
}

// sharesOf returns the shares in which an endpoint of the table counts. The configured ones take theirs of the whole.
func (s *Endpoints) sharesOf(id string) []share {
	all := []share{{AllTenants, maxEndpoints - int64(len(s.cfg.Configured)), ErrTooMany}}
	if tenant := tenantOf(id); tenant != "" {
		all = append(all, share{tenant, maxTenantEndpoints, ErrShare})
	}

	return all
}

// update returns the write that adds n to the count of a share.
func (s share) update(table string, n int64) types.TransactWriteItem {
	u := &types.Update{
		TableName:                 &table,
		Key:                       endpointItemKey(shareItem + s.tenant),
		UpdateExpression:          aws.String("ADD #n :n"),
		ExpressionAttributeNames:  map[string]string{"#n": shareCount},
		ExpressionAttributeValues: dynamo.Item{":n": dynamo.N(n)},
	}
	if n > 0 {
		u.ConditionExpression = aws.String("attribute_not_exists(#n) OR #n < :most")
		u.ExpressionAttributeValues[":most"] = dynamo.N(s.most)
	}

	return types.TransactWriteItem{Update: u}
}

// create writes the item of a new endpoint, unless the id is taken or a share is used up. The item of a former
// endpoint with this id is counted already.
func (s *Endpoints) create(ctx context.Context, e Endpoint) (Endpoint, error) {
	for range changeRounds {
		// The read also tells the service's time, which the endpoint begins at: the time of a transition is
		// compared with it.
		old, err := s.item(ctx, e.ID)
		if err != nil {
			return Endpoint{}, fmt.Errorf("create endpoint %s: %w", e.ID, err)
		}

		if dynamo.Text(old, endpointSettings) != "" {
			return s.createdBefore(e, old)
		}

		e.CreatedAt = s.clock.Now().UTC()
		e.UpdatedAt = e.CreatedAt

		err = s.createOver(ctx, e, old)
		s.forget()

		canceled := (*txn.CanceledError)(nil)
		switch {
		case err == nil:
			return e, nil
		case !errors.As(err, &canceled) || !canceled.Marker:
			return Endpoint{}, fmt.Errorf("create endpoint %s: %w", e.ID, err)
		// An attempt whose answer was lost has created it, or another caller has.
		case dynamo.Text(canceled.Old, endpointSettings) != "":
			return s.createdBefore(e, canceled.Old)
		}
	}

	return Endpoint{}, fmt.Errorf("create endpoint %s: %w", e.ID, ErrContended)
}

// createOver writes a new endpoint in the place of the item that was read, nil for none.
func (s *Endpoints) createOver(ctx context.Context, e Endpoint, old dynamo.Item) error {
	item, err := encodeEndpoint(e)
	if err != nil {
		return err
	}

	put := &types.Put{
		TableName:                &s.cfg.Table,
		Item:                     item,
		ConditionExpression:      aws.String("attribute_not_exists(#settings) AND attribute_not_exists(#removed)"),
		ExpressionAttributeNames: map[string]string{"#settings": endpointSettings, "#removed": endpointRemoved},
	}

	counted := old[endpointRemoved] != nil
	if counted {
		put.ConditionExpression = aws.String("attribute_not_exists(#settings) AND #removed = :removed AND #generation <> :generation")
		put.ExpressionAttributeNames["#generation"] = endpointGeneration
		put.ExpressionAttributeValues = dynamo.Item{":removed": old[endpointRemoved], ":generation": item[endpointGeneration]}
	}

	var t txn.Transaction
	t.Marker("endpoint", types.TransactWriteItem{Put: put})

	if !counted {
		for _, share := range s.sharesOf(e.ID) {
			t.Add(share.tenant, share.update(s.cfg.Table, 1), txn.FailWith(share.full))
		}
	}

	return s.writer.Write(ctx, &t) //nolint:wrapcheck // the caller says what it was for
}

// createdBefore returns the endpoint that has the id, if it is what the caller asks for.
func (s *Endpoints) createdBefore(e Endpoint, old dynamo.Item) (Endpoint, error) {
	found, err := decodeEndpoint(old)
	if err != nil {
		return Endpoint{}, fmt.Errorf("create endpoint %s: %w: %w", e.ID, ErrExists, err)
	}

	if found.generation == e.generation {
		return found, nil
	}

	settings, _, err := encodeSettings(e.Settings)
	if err != nil {
		return Endpoint{}, err
	}

	sameSettings := dynamo.Text(old, endpointSettings) == dynamo.Text(dynamo.Item{endpointSettings: settings}, endpointSettings)
	if sameSettings && len(found.Secrets) > 0 && slices.Equal(found.Secrets[0].Key, e.Secrets[0].Key) {
		return found, nil
	}

	return Endpoint{}, fmt.Errorf("create endpoint %s: %w", e.ID, ErrExists)
}

// item returns the item of an endpoint, nil if there is none.
func (s *Endpoints) item(ctx context.Context, id string) (dynamo.Item, error) {
	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.cfg.Table,
		Key:            endpointItemKey(id),
		ConsistentRead: aws.Bool(true),
	}, s.clock.Listen)
	if err != nil {
		return nil, fmt.Errorf("get endpoint %s: %w", id, err)
	}

	return out.Item, nil
}

// dropFormer removes the item of a former endpoint, unless the endpoint is there again, and counts it no longer.
func (s *Endpoints) dropFormer(ctx context.Context, f former) error {
	var t txn.Transaction
	t.Marker("endpoint", types.TransactWriteItem{Delete: &types.Delete{
		TableName:                 &s.cfg.Table,
		Key:                       endpointItemKey(f.id),
		ConditionExpression:       aws.String("attribute_not_exists(#settings) AND #mark = :ended"),
		ExpressionAttributeNames:  map[string]string{"#settings": endpointSettings, "#mark": f.mark},
		ExpressionAttributeValues: dynamo.Item{":ended": dynamo.Millis(f.ended)},
	}})

	if f.counted {
		for _, share := range s.sharesOf(f.id) {
			t.Add(share.tenant, share.update(s.cfg.Table, -1), nil)
		}
	}

	err := s.writer.Write(ctx, &t)
	if errors.Is(err, txn.ErrMarker) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("remove the item of former endpoint %s: %w", f.id, err)
	}

	return nil
}
