package ledger

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"ratchet/internal/dynamo"
)

// MaxAmount is the largest amount of one leg or hold, in minor units.
const MaxAmount = 1_000_000_000_000_000

const maxShards = 16

// The range of a shard, in minor units. A condition cannot add the available and the held
// money, so each has a limit of its own, at the writes that bring it nearer to the limit:
//
//   - A debit or hold leaves at least minAvailable available.
//   - A credit leaves at most maxAvailable available.
//   - A hold leaves at most maxHeld held.
//
// Settling and releasing need no limit: settling does not change the available money, and
// releasing only returns money that was a part of the balance before. The balance therefore
// stays between minAvailable and maxAvailable + maxHeld, which is below 2^53.
const (
	minAvailable = -9_000_000_000_000_000
	maxAvailable = 6_000_000_000_000_000
	maxHeld      = 3_000_000_000_000_000
)

// Side is the side on which an account's balance normally stands.
type Side string

// Credit is for money that the owner of the ledger owes: customers, merchants, fees. Debit
// is for the owner's assets: cash, goods, claims. The texts are stored.
const (
	Credit Side = "credit"
	Debit  Side = "debit"
)

// Status is the status of an account.
type Status string

// An account is open until it is closed for good. The texts are stored.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// NewAccount describes an account to create.
type NewAccount struct {
	// ID has 1 to 128 of A-Z a-z 0-9 . _ : / -.
	ID string `json:"id"`
	// Currency has three capitals (ISO 4217).
	Currency string `json:"currency"`
	// Side defaults to Credit. Without Overdraft the balance stays on this side, and the
	// balance of a credit account covers its held money.
	Side Side `json:"side,omitempty"`
	// Overdraft lets the balance stand on either side. It is for accounts that stand for the
	// world outside, such as a bank or a processor's clearing account.
	Overdraft bool `json:"overdraft,omitempty"`
	// Shards spreads a hot account over that many items: 1 to 16. Default 1.
	Shards int `json:"shards,omitempty"`
}

// Account is an account at the moment it was read. Amounts are in minor units.
type Account struct {
	ID        string `json:"id"`
	Currency  string `json:"currency"`
	Side      Side   `json:"side"`
	Overdraft bool   `json:"overdraft"`
	Status    Status `json:"status"`
	Shards    int    `json:"shards"`
	// Balance is the sum of the account's entries. Held is the rest of its active holds.
	// Available is Balance minus Held; Available and Held are stored.
	Balance   int64 `json:"balance"`
	Available int64 `json:"available"`
	Held      int64 `json:"held"`
	// Entries is the number of the account's entries.
	Entries   int64     `json:"entries"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	shard    int
	revision int64  // grows with each write of the shard
	call     string // of the call that created the account
}

var (
	idRule       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,128}$`) })
	currencyRule = regexp.MustCompile(`^[A-Z]{3}$`)
)

func checkID(what, id string) error {
	if !idRule().MatchString(id) {
		return fmt.Errorf("%w: %s: 1 to 128 of A-Z a-z 0-9 . _ : / -", ErrInvalid, what)
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

// Validate returns ErrInvalid with the first field that breaks a rule.
func (n NewAccount) Validate() error {
	if err := checkID("id", n.ID); err != nil {
		return err
	}

	switch {
	case !currencyRule.MatchString(n.Currency):
		return fmt.Errorf("%w: currency: three capitals of ISO 4217", ErrInvalid)
	case n.Side != "" && n.Side != Credit && n.Side != Debit:
		return fmt.Errorf("%w: side: %q or %q", ErrInvalid, Credit, Debit)
	case n.Shards < 0 || n.Shards > maxShards:
		return fmt.Errorf("%w: shards %d: 1 to %d", ErrInvalid, n.Shards, maxShards)
	}

	return nil
}

// shardKey returns the accountId under which a shard is stored. The first shard is stored
// under the account's own id.
func shardKey(id string, shard int) string {
	if shard == 0 {
		return id
	}

	return id + "#" + strconv.Itoa(shard)
}

func accountKey(key string) dynamo.Item { return dynamo.Item{"accountId": dynamo.S(key)} }

// item returns one shard of the new account.
func (n NewAccount) item(shard int, at time.Time, call string) dynamo.Item {
	ms := dynamo.N(at.UnixMilli())

	return dynamo.Item{
		"accountId": dynamo.S(shardKey(n.ID, shard)),
		"shard":     dynamo.N(int64(shard)),
		"shards":    dynamo.N(int64(n.Shards)),
		"currency":  dynamo.S(n.Currency),
		"side":      dynamo.S(string(n.Side)),
		"overdraft": dynamo.Bool(n.Overdraft),
		"status":    dynamo.S(string(Open)),
		"available": dynamo.N(0),
		"held":      dynamo.N(0),
		"sequence":  dynamo.N(0),
		"revision":  dynamo.N(1),
		"createdAt": ms,
		"updatedAt": ms,
		"call":      dynamo.S(call),
	}
}

// accountKinds are the types of an account's attributes.
var accountKinds = dynamo.Kinds{
	"accountId": "S", "currency": "S", "side": "S", "status": "S", "call": "S", "overdraft": "BOOL",
	"shard": "N", "shards": "N", "available": "N", "held": "N", "sequence": "N", "revision": "N", "createdAt": "N", "updatedAt": "N",
}

// readAccount reads one shard. It returns nil if there is no item, and ErrCorrupt if an attribute is not of its
// type: money that cannot be read is not money that is missing.
func readAccount(item dynamo.Item) (*Account, error) {
	if err := accountKinds.Check(item); err != nil {
		return nil, fmt.Errorf("%w: account %s: %w", ErrCorrupt, dynamo.Text(item, "accountId"), err)
	}

	return decodeAccount(item), nil
}

// decodeAccount reads one shard as far as it can be read. It returns nil if there is no item.
func decodeAccount(item dynamo.Item) *Account {
	if len(item) == 0 {
		return nil
	}

	id, _, _ := strings.Cut(dynamo.Text(item, "accountId"), "#")
	// The balance itself is not stored.
	available, held := dynamo.Number(item, "available"), dynamo.Number(item, "held")

	return &Account{
		ID:        id,
		Currency:  dynamo.Text(item, "currency"),
		Side:      Side(dynamo.Text(item, "side")),
		Overdraft: dynamo.Flag(item, "overdraft"),
		Status:    Status(dynamo.Text(item, "status")),
		Shards:    int(dynamo.Number(item, "shards")),
		Balance:   available + held,
		Available: available,
		Held:      held,
		Entries:   dynamo.Number(item, "sequence"),
		CreatedAt: decodeTime(item, "createdAt"),
		UpdatedAt: decodeTime(item, "updatedAt"),
		shard:     int(dynamo.Number(item, "shard")),
		revision:  dynamo.Number(item, "revision"),
		call:      dynamo.Text(item, "call"),
	}
}

// decodeTime reads epoch milliseconds. It returns the zero time if there are none.
func decodeTime(item dynamo.Item, name string) time.Time {
	ms := dynamo.Number(item, name)
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms).UTC()
}

// sumShards adds up the shards of one account.
func sumShards(shards []*Account) Account {
	total := *shards[0]
	for _, s := range shards[1:] {
		total.Balance += s.Balance
		total.Available += s.Available
		total.Held += s.Held
		total.Entries += s.Entries
		// Like the revision of a single item, the sum grows with each write.
		total.revision += s.revision

		if s.UpdatedAt.After(total.UpdatedAt) {
			total.UpdatedAt = s.UpdatedAt
		}
	}

	return total
}

// checkOpen returns the reason why no operation in the currency can use the account, nil
// if operations can. A nil account does not exist.
func (a *Account) checkOpen(currency string) error {
	switch {
	case a == nil:
		return ErrUnknownAccount
	case a.Status != Open:
		return ErrAccountClosed
	case a.Currency != currency:
		return ErrCurrencyMismatch
	}

	return nil
}

// covers reports whether the account stays on its side when the amount is added. A hold is
// a debit of available money.
func (a *Account) covers(amount int64) bool {
	switch {
	case a.Overdraft:
		return true
	case amount < 0:
		return a.Side == Debit || a.room(amount) >= -amount
	}

	return a.Side == Credit || a.room(amount) >= amount
}

// onItsSide reports whether the account stands on its side. For an account with overdraft it
// is always true.
func (a *Account) onItsSide() bool {
	if a.Side == Debit {
		return a.Overdraft || a.Balance <= 0
	}

	return a.Overdraft || a.Available >= 0
}

// room returns how much the account can take in the direction of the amount without leaving
// its side: a credit account pays what is available, a debit account takes credits up to a
// balance of 0.
func (a *Account) room(amount int64) int64 {
	if amount < 0 {
		return a.Available
	}

	return -a.Balance
}
