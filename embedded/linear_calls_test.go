package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/faults"
)

// make makes a call and returns its answer in the words of the model.
func (r *linearRun) make(scene string, c linearCall) linearAnswer {
	text, err := r.send(r.t.Context(), scene, c)

	var failed *types.ConditionalCheckFailedException
	var canceled *types.TransactionCanceledException

	switch {
	case err == nil:
		return linearAnswer{text: text}
	case errors.As(err, &failed):
		return linearAnswer{text: fmt.Sprint("refused ", []string{linearText(failed.Item)})}
	case errors.As(err, &canceled):
		return linearAnswer{text: fmt.Sprint("refused ", linearReasons(canceled.CancellationReasons))}
	case !errors.Is(err, faults.ErrLost) && !errors.Is(err, faults.ErrAnswerLost):
		r.t.Error(err)
	}

	return linearAnswer{unknown: true}
}

func linearReasons(reasons []types.CancellationReason) (texts []string) {
	for _, reason := range reasons {
		text := "none"
		if code := aws.ToString(reason.Code); code == "ConditionalCheckFailed" {
			text = linearText(reason.Item)
		} else if code != "None" {
			text = code
		}
		texts = append(texts, text)
	}

	return texts
}

func (r *linearRun) send(ctx context.Context, scene string, c linearCall) (string, error) {
	switch c.verb {
	case "write":
		return r.write(ctx, scene, c.writes[0])
	case "transact":
		parts := make([]types.TransactWriteItem, len(c.writes))
		for k, w := range c.writes {
			parts[k] = w.part(scene)
		}
		_, err := r.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})

		return "done", err
	case "get":
		out, err := r.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(linearTable), Key: linearKey(scene, c.n), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return "", err
		}

		return linearText(out.Item), nil
	case "transactGet":
		return r.transactGet(ctx, scene)
	default:
		return r.query(ctx, scene, c)
	}
}

func (r *linearRun) write(ctx context.Context, scene string, w linearWrite) (string, error) {
	var returned item
	part := w.part(scene)
	old := types.ReturnValuesOnConditionCheckFailureAllOld

	switch {
	case part.Put != nil:
		p := part.Put

		out, err := r.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: p.TableName, Item: p.Item, ReturnValues: types.ReturnValueAllOld,
			ConditionExpression: p.ConditionExpression, ExpressionAttributeValues: p.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: old})
		if err != nil {
			return "", err
		}
		returned = out.Attributes
	case part.Update != nil:
		u := part.Update

		out, err := r.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ReturnValues: types.ReturnValueAllNew,
			ConditionExpression: u.ConditionExpression, ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: old})
		if err != nil {
			return "", err
		}
		returned = out.Attributes
	default:
		d := part.Delete

		out, err := r.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: d.TableName, Key: d.Key, ReturnValues: types.ReturnValueAllOld,
			ConditionExpression: d.ConditionExpression, ExpressionAttributeValues: d.ExpressionAttributeValues, ReturnValuesOnConditionCheckFailure: old})
		if err != nil {
			return "", err
		}
		returned = out.Attributes
	}

	return linearText(returned), nil
}

func (r *linearRun) transactGet(ctx context.Context, scene string) (string, error) {
	var gets []types.TransactGetItem
	for n := range linearItems {
		gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: aws.String(linearTable), Key: linearKey(scene, n)}})
	}

	out, err := r.db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: gets})
	if err != nil {
		return "", err
	}

	var texts []string
	for _, got := range out.Responses {
		texts = append(texts, linearText(got.Item))
	}

	return fmt.Sprint(texts), nil
}

// query reads the items of a scene, or the items of a group by the global index.
func (r *linearRun) query(ctx context.Context, scene string, c linearCall) (string, error) {
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(linearTable),
		KeyConditionExpression:    aws.String("scene = :key"),
		ExpressionAttributeValues: item{":key": str(scene)},
		ConsistentRead:            aws.Bool(true),
	}

	if c.verb != "query" {
		in.IndexName = &c.verb
	}

	if c.verb == "global" { // which has no consistent reads
		in.KeyConditionExpression, in.ConsistentRead = aws.String("#group = :key"), nil
		in.ExpressionAttributeNames = map[string]string{"#group": "group"}
		in.ExpressionAttributeValues = item{":key": str(scene + c.group)}
	}

	out, err := r.db.Query(ctx, in)
	if err != nil {
		return "", err
	}

	// Items with the same v may come in any order.
	if c.verb != "query" {
		slices.SortStableFunc(out.Items, func(a, b item) int {
			if number(a["v"]) == number(b["v"]) {
				return strings.Compare(number(a["n"]), number(b["n"]))
			}

			return 0
		})
	}

	var texts []string
	for _, i := range out.Items {
		texts = append(texts, number(i["n"])+"="+linearText(i))
	}

	return strings.Join(texts, " "), nil
}

func linearKey(scene string, n int) item { return item{"scene": str(scene), "n": num(strconv.Itoa(n))} }

// linearText shows an item as the model does.
func linearText(i item) string {
	if len(i) == 0 {
		return "-"
	}
	group := text(i["group"])

	return number(i["v"]) + group[len(group)-1:]
}

// part returns the write as a part of a transaction.
func (w linearWrite) part(scene string) types.TransactWriteItem {
	table, key := aws.String(linearTable), linearKey(scene, w.n)
	v, group := num(strconv.Itoa(w.v)), str(scene+w.group)

	var condition *string
	var values item
	switch w.when {
	case "absent":
		condition = aws.String("attribute_not_exists(v)")
	case "equal":
		condition, values = aws.String("v = :is"), item{":is": num(strconv.Itoa(w.is))}
	}

	old := types.ReturnValuesOnConditionCheckFailureAllOld
	switch w.verb {
	case "put":
		key["v"], key["group"] = v, group
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: key, ConditionExpression: condition, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	case "add":
		all := item{":v": v, ":group": group}
		if w.when == "equal" {
			all[":is"] = values[":is"]
		}

		return types.TransactWriteItem{Update: &types.Update{TableName: table, Key: key, UpdateExpression: aws.String("ADD v :v SET #group = :group"),
			ConditionExpression: condition, ExpressionAttributeNames: map[string]string{"#group": "group"}, ExpressionAttributeValues: all, ReturnValuesOnConditionCheckFailure: old}}
	case "delete":
		return types.TransactWriteItem{Delete: &types.Delete{TableName: table, Key: key, ConditionExpression: condition, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: old}}
	default:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key, ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: old}}
	}
}
