package ledger

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// What amounts, balances and accounts may be. Balances stay below 2^53, so that a
// reader in JavaScript loses nothing.
const (
	MaxAmount  = 1_000_000_000_000_000
	MaxBalance = 9_000_000_000_000_000
	MaxShards  = 16
)

// Side is the side on which an account's balance normally stands.
type Side string

// Credit is for what is owed to somebody: customers, merchants, fees. Debit is for
// what one has: cash, goods, claims. The texts are stored and never renamed.
const (
	Credit Side = "credit"
	Debit  Side = "debit"
)

// Status of an account.
type Status string

// An account is open until it is closed for good.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// NewAccount is an account to be.
type NewAccount struct {
	// ID has 1 to 100 of A-Z a-z 0-9 . _ : / -.
	ID string `json:"id"`
	// Currency is three capitals of ISO 4217.
	Currency string `json:"currency"`
	// Side defaults to Credit. Without Overdraft the balance stays on it.
	Side Side `json:"side,omitempty"`
	// Overdraft lets the balance stand on either side: for the world outside (a bank,
	// a processor's clearing account).
	Overdraft bool `json:"overdraft,omitempty"`
	// Shards spread a hot account over that many items, 1 to MaxShards. Default 1.
	Shards int `json:"shards,omitempty"`
}

// Account is an account as it was when it was read.
type Account struct {
	ID        string `json:"id"`
	Currency  string `json:"currency"`
	Side      Side   `json:"side"`
	Overdraft bool   `json:"overdraft"`
	Status    Status `json:"status"`
	Shards    int    `json:"shards"`
	// Balance is the sum of the account's entries; Available is what is not held.
	Balance   int64 `json:"balance"`
	Available int64 `json:"available"`
	Held      int64 `json:"held"`
	// Entries is how many entries the account has.
	Entries   int64     `json:"entries"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	shard    int
	revision int64
	call     string
}

// NaturalBalance is the balance seen from the account's own side: what a person
// expects to be positive.
func (a Account) NaturalBalance() int64 {
	if a.Side == Debit {
		return -a.Balance
	}
	return a.Balance
}

var (
	idRule       = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,100}$`)
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
)

func checkID(what, id string) error {
	if !idRule.MatchString(id) {
		return fmt.Errorf("%w: %s: 1 to 100 of A-Z a-z 0-9 . _ : / -", ErrInvalid, what)
	}
	return nil
}

func checkMoney(amount int64, currency string) error {
	switch {
	case amount < 1 || amount > MaxAmount:
		return fmt.Errorf("%w: amount %d: 1 to %d", ErrInvalid, amount, int64(MaxAmount))
	case !currencyRule.MatchString(currency):
		return fmt.Errorf("%w: currency: three capitals of ISO 4217", ErrInvalid)
	}

	return nil
}

// Validate names the first field that breaks a rule.
func (n NewAccount) Validate() error {
	if err := checkID("id", n.ID); err != nil {
		return err
	}

	switch {
	case !currencyRule.MatchString(n.Currency):
		return fmt.Errorf("%w: currency: three capitals of ISO 4217", ErrInvalid)
	case n.Side != "" && n.Side != Credit && n.Side != Debit:
		return fmt.Errorf("%w: side: %q or %q", ErrInvalid, Credit, Debit)
	case n.Shards < 0 || n.Shards > MaxShards:
		return fmt.Errorf("%w: shards %d: 1 to %d", ErrInvalid, n.Shards, MaxShards)
	}

	return nil
}

// shardKey is the accountId under which a shard lies: the account's own for the first.
func shardKey(id string, shard int) string {
	if shard == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(shard)
}

func accountKey(key string) image { return image{"accountId": dynamo.S(key)} }

// item is a shard of the account to be.
func (n NewAccount) item(shard int, at time.Time, call string) image {
	ms := dynamo.N(at.UnixMilli())

	return image{
		"accountId": dynamo.S(shardKey(n.ID, shard)), "shard": dynamo.N(int64(shard)), "shards": dynamo.N(int64(n.Shards)),
		"currency": dynamo.S(n.Currency), "side": dynamo.S(string(n.Side)), "overdraft": &types.AttributeValueMemberBOOL{Value: n.Overdraft},
		"status": dynamo.S(string(Open)), "available": dynamo.N(0), "held": dynamo.N(0), "sequence": dynamo.N(0),
		"revision": dynamo.N(1), "createdAt": ms, "updatedAt": ms, "call": dynamo.S(call),
	}
}

// accountOf reads one shard, nil for no item.
func accountOf(i image) *Account {
	if len(i) == 0 {
		return nil
	}
	id, _, _ := strings.Cut(dynamo.Text(i, "accountId"), "#")
	overdraft, _ := i["overdraft"].(*types.AttributeValueMemberBOOL)
	a := &Account{
		ID: id, Currency: dynamo.Text(i, "currency"), Side: Side(dynamo.Text(i, "side")), Overdraft: overdraft != nil && overdraft.Value,
		Status: Status(dynamo.Text(i, "status")), Shards: int(dynamo.Number(i, "shards")),
		Available: dynamo.Number(i, "available"), Held: dynamo.Number(i, "held"), Entries: dynamo.Number(i, "sequence"),
		CreatedAt: moment(i, "createdAt"), UpdatedAt: moment(i, "updatedAt"),
		shard: int(dynamo.Number(i, "shard")), revision: dynamo.Number(i, "revision"), call: dynamo.Text(i, "call"),
	}
	a.Balance = a.Available + a.Held

	return a
}

// moment reads epoch milliseconds, the zero time for none.
func moment(i image, name string) time.Time {
	ms := dynamo.Number(i, name)
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms).UTC()
}

// sum adds the shards of one account up.
func sum(shards []*Account) Account {
	total := *shards[0]
	for _, s := range shards[1:] {
		total.Balance += s.Balance
		total.Available += s.Available

		total.Held += s.Held
		total.Entries += s.Entries
		total.revision += s.revision
		if s.UpdatedAt.After(total.UpdatedAt) {
			total.UpdatedAt = s.UpdatedAt
		}
	}

	return total
}
