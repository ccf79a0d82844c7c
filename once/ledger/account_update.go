package ledger

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// The expressions of a transfer's updates of accounts are constants, and as short as they can
// be: beside the five writes, they are most of the cost of a transfer. The condition on the
// sequence makes the number and the balance of the entry right: it fails if another entry was
// written since the account was read. It also pins the account that was read, so attributes
// that never change (currency, side, overdraft) are checked before the transfer is sent.
const (
	pinned = "#status = :open AND #sequence = :seen"

	// No account has the revision 0, so the update of an account that did not exist when it was
	// read, or that has another currency, is refused. It is sent all the same: the transfer's
	// record outranks it, and may show that the transfer was made before.
	impossible = " AND revision = :none"

	debitCondition  = pinned + " AND available >= :limit"
	creditCondition = pinned + " AND available <= :limit"
	// The balance of a debit account stays at 0 or below. A condition cannot add available and
	// held money, so it assumes the held money, as it assumes the sequence.
	sidedCondition  = creditCondition + " AND held = :held"
	settleCondition = pinned + " AND held >= :part"

	counted      = "#sequence = #sequence + :one, "
	touched      = "revision = revision + :one, updatedAt = :now"
	moveUpdate   = "SET available = available + :amount, " + counted + touched
	settleUpdate = "SET held = held - :part, available = available + :freed, " + counted + touched
	returnUpdate = "SET held = held - :part, available = available + :freed, " + touched
)

// accountNames are the names that the expressions use for reserved words. Read only.
var accountNames = map[string]string{"#status": "status", "#sequence": "sequence"}

// accountUpdate updates one account under all the conditions of the transfer.
func (p *postCall) accountUpdate(c change) types.TransactWriteItem {
	before := Account{}
	if c.before != nil {
		before = *c.before
	}

	// An unknown account has no currency here, so its update becomes impossible, too.
	condition, update, values := c.expressions(&before)
	if before.Currency != p.transfer.Currency {
		condition += impossible
		values[":none"] = dynamo.N(0)
	}

	values[":open"] = dynamo.S(string(Open))
	values[":seen"] = dynamo.N(before.Entries)
	values[":one"] = dynamo.N(1)
	values[":now"] = dynamo.N(p.at.UnixMilli())

	return types.TransactWriteItem{Update: &types.Update{
		TableName:                 &p.ledger.cfg.Tables.Accounts,
		Key:                       accountKey(c.key),
		ConditionExpression:       &condition,
		UpdateExpression:          &update,
		ExpressionAttributeNames:  accountNames,
		ExpressionAttributeValues: values,
	}}
}

// expressions returns the condition and the update of the change, with the values that only
// they need.
func (c change) expressions(before *Account) (condition, update string, values dynamo.Item) {
	const most = 8 // values

	values = make(dynamo.Item, most)
	switch {
	case c.hold != nil:
		// Held money pays, so the available money need not cover the amount, and stays.
		values[":part"] = dynamo.N(c.freed - c.amount)
		values[":freed"] = dynamo.N(c.freed)

		// Money that only returns makes no entry, so the sequence stays.
		if c.amount == 0 {
			return settleCondition, returnUpdate, values
		}

		return settleCondition, settleUpdate, values
	case c.amount < 0:
		condition = debitCondition
		values[":limit"] = dynamo.N(before.leastBefore(c.amount))
	case before.Side == Debit && !before.Overdraft:
		condition = sidedCondition
		values[":limit"] = dynamo.N(-c.amount - before.Held)
		values[":held"] = dynamo.N(before.Held)
	default:
		condition = creditCondition
		values[":limit"] = dynamo.N(maxAvailable - c.amount)
	}

	values[":amount"] = dynamo.N(c.amount)

	return condition, moveUpdate, values
}

// leastBefore returns how much must be available before a debit of the amount, which is
// negative.
func (a *Account) leastBefore(amount int64) int64 {
	if a.Side == Credit && !a.Overdraft {
		return -amount
	}

	return minAvailable - amount
}
