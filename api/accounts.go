package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/once/ledger"
)

func (s *service) accountRoutes(h huma.API) {
	links := map[string]*huma.Link{
		"get":     {OperationID: "get-account", Parameters: map[string]any{"accountId": "$response.body#/accountId"}},
		"entries": {OperationID: "list-entries", Parameters: map[string]any{"accountId": "$response.body#/accountId"}},
	}
	register(s, h, route{
		id:          "open-account",
		method:      http.MethodPut,
		path:        "/v1/accounts/{accountId}",
		tag:         "accounts",
		scope:       auth.Admin,
		mutates:     true,
		repeats:     fromAnswer,
		body:        true,
		auditParams: []string{"accountId"},
		status:      http.StatusCreated,
		errors:      []int{http.StatusConflict},
		summary:     "Open an account",
		description: "The id makes the request idempotent. An account of another kind under the id is a conflict.",
		links:       links,
	}, s.openAccount)
	register(s, h, route{
		id:      "get-account",
		method:  http.MethodGet,
		path:    "/v1/accounts/{accountId}",
		tag:     "accounts",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read an account",
	}, s.getAccount)
	register(s, h, route{
		// The table has the accounts of all tenants, and a page leaves out the accounts of others.
		id:          "list-accounts",
		method:      http.MethodGet,
		path:        "/v1/accounts",
		tag:         "accounts",
		scope:       auth.Read,
		status:      http.StatusOK,
		summary:     "List accounts, page by page",
		description: "The order of the list is not specified. A page may be shorter than the limit, even empty, and have a next one.",
	}, s.listAccounts)
	register(s, h, route{
		// The ledger cannot tell a repeat from the first request: the first stored answer decides.
		id:          "close-account",
		method:      http.MethodPost,
		path:        "/v1/accounts/{accountId}/close",
		tag:         "accounts",
		scope:       auth.Admin,
		mutates:     true,
		repeats:     firstStored,
		auditParams: []string{"accountId"},
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Close an empty account permanently",
	}, s.closeAccount)
	register(s, h, route{
		id:          "list-entries",
		method:      http.MethodGet,
		path:        "/v1/accounts/{accountId}/entries",
		tag:         "accounts",
		scope:       auth.Read,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "Read an account's statement",
		description: "Oldest first. The entries of a sharded account follow shard by shard.",
	}, s.listEntries)
	// A variable, because the other routes of a hold share its path.
	hold := route{
		id:          "hold-money",
		method:      http.MethodPut,
		path:        "/v1/accounts/{accountId}/holds/{holdId}",
		tag:         "accounts",
		scope:       auth.Act,
		mutates:     true,
		repeats:     fromAnswer,
		body:        true,
		auditParams: []string{"accountId", "holdId"},
		status:      http.StatusCreated,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Hold money of an account",
		description: "The hold's id makes the request idempotent. Transfers debit the hold. Its release gives the rest back.",
	}
	register(s, h, hold, s.holdMoney)
	register(s, h, route{
		id:          "list-holds",
		method:      http.MethodGet,
		path:        "/v1/accounts/{accountId}/holds",
		tag:         "accounts",
		scope:       auth.Read,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound},
		summary:     "List the holds of an account, by id",
		description: "Holds that have ended are among them.",
	}, s.listHolds)
	register(s, h, route{
		id:      "get-hold",
		method:  http.MethodGet,
		path:    hold.path,
		tag:     "accounts",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read a hold",
	}, s.getHold)
	register(s, h, route{
		id:          "release-hold",
		method:      http.MethodPost,
		path:        hold.path + "/release",
		tag:         "accounts",
		scope:       auth.Act,
		mutates:     true,
		repeats:     firstStored,
		auditParams: hold.auditParams,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Release the rest of a hold",
	}, s.releaseHold)
}

type openAccountInput struct {
	input.Account
	Body struct {
		Currency  string `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
		Side      string `json:"side,omitempty" enum:"credit,debit" doc:"credit for liabilities, debit for assets. Default credit."`
		Overdraft bool   `json:"overdraft,omitempty" doc:"Whether the balance may have either sign. For accounts that represent the outside."`
		Shards    int64  `json:"shards,omitempty" minimum:"1" maximum:"16" doc:"Over how many items a busy account is spread. Default 1."`
	}
}

// account is an account at the time it was read. Amounts are in minor units.
type account struct {
	AccountID string    `json:"accountId"`
	Currency  string    `json:"currency"`
	Side      string    `json:"side" enum:"credit,debit"`
	Overdraft bool      `json:"overdraft"`
	Status    string    `json:"status" enum:"open,closed"`
	Shards    int       `json:"shards"`
	Balance   int64     `json:"balance" doc:"The sum of the account's entries: credits positive, debits negative."`
	Available int64     `json:"available" doc:"The balance without the held part."`
	Held      int64     `json:"held"`
	Entries   int64     `json:"entries" doc:"The number of entries."`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

type accountOutput struct {
	input.Repeat
	Status int
	Body   account
}

func (t tenant) showAccount(a ledger.Account) account {
	return account{
		AccountID: t.publicID(a.ID),
		Currency:  a.Currency,
		Side:      string(a.Side),
		Overdraft: a.Overdraft,
		Status:    string(a.Status),
		Shards:    a.Shards,
		Balance:   a.Balance,
		Available: a.Available,
		Held:      a.Held,
		Entries:   a.Entries,
		CreatedAt: a.CreatedAt,
		UpdatedAt: a.UpdatedAt,
	}
}

func (s *service) openAccount(ctx context.Context, c caller, in *openAccountInput) (*accountOutput, error) {
	a, replayed, err := s.cfg.Ledger.CreateAccount(ctx, ledger.NewAccount{
		ID:        c.tenant.storedID(in.AccountID),
		Currency:  in.Body.Currency,
		Side:      ledger.Side(in.Body.Side),
		Overdraft: in.Body.Overdraft,
		Shards:    int(in.Body.Shards),
	})
	if err != nil {
		return nil, err
	}

	out := &accountOutput{Status: http.StatusCreated, Body: c.tenant.showAccount(a)}
	if replayed {
		out.MarkReplayed()
	}

	return out, nil
}

func (s *service) getAccount(ctx context.Context, c caller, in *input.StoredAccount) (*accountOutput, error) {
	a, found, err := s.cfg.Ledger.Account(ctx, c.tenant.storedID(in.AccountID))
	if err == nil && !found {
		err = notFound("account")
	}

	if err != nil {
		return nil, err
	}

	return &accountOutput{Status: http.StatusOK, Body: c.tenant.showAccount(a)}, nil
}

type listAccountsOutput struct {
	Body struct {
		Accounts []account `json:"accounts"`
		Next     string    `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listAccounts(ctx context.Context, c caller, in *input.Page) (*listAccountsOutput, error) {
	out := &listAccountsOutput{}
	var err error
	out.Body.Accounts, out.Body.Next, err = listPage(s, *in, []string{"accounts", string(c.tenant)},
		func(after string, n int) ([]ledger.Account, string, error) {
			return s.cfg.Ledger.Accounts(ctx, after, n)
		},
		func(a ledger.Account) (account, bool, error) {
			_, own := c.tenant.ownID(a.ID)
			return c.tenant.showAccount(a), own, nil
		})

	return out, err
}

func (s *service) closeAccount(ctx context.Context, c caller, in *input.StoredAccount) (*accountOutput, error) {
	if err := s.cfg.Ledger.CloseAccount(ctx, c.tenant.storedID(in.AccountID)); err != nil {
		return nil, err
	}
	// CloseAccount returns no account.
	return s.getAccount(ctx, c, in)
}

type listEntriesInput struct {
	input.StoredAccount
	input.Page
}

// entry is one entry of a statement.
type entry struct {
	TransferID string    `json:"transferId"`
	Amount     int64     `json:"amount" doc:"Credits positive, debits negative."`
	Shard      int       `json:"shard"`
	Sequence   int64     `json:"sequence" doc:"The number of the entry within its shard, from 1."`
	Balance    int64     `json:"balance" doc:"The balance of the shard after this entry."`
	At         time.Time `json:"at"`
}

type listEntriesOutput struct {
	Body struct {
		Entries []entry `json:"entries"`
		Next    string  `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listEntries(ctx context.Context, c caller, in *listEntriesInput) (*listEntriesOutput, error) {
	// A cursor is valid for the statement of this account only.
	binding := []string{"entries", string(c.tenant), in.AccountID}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	entries, next, err := s.cfg.Ledger.Statement(ctx, c.tenant.storedID(in.AccountID), position, in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listEntriesOutput{}
	out.Body.Entries = make([]entry, len(entries))
	for i, e := range entries {
		out.Body.Entries[i] = entry{
			TransferID: c.tenant.publicID(e.TransferID),
			Amount:     e.Amount,
			Shard:      e.Shard,
			Sequence:   e.Sequence,
			Balance:    e.Balance,
			At:         e.At,
		}
	}

	if next != "" {
		out.Body.Next = s.cursors.seal(next, binding...)
	}

	return out, nil
}

type getHoldInput struct {
	input.StoredAccount
	input.StoredHold
}

type holdPath struct {
	input.Account
	HoldID string `path:"holdId" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
}

type holdMoneyInput struct {
	input.Account
	HoldID string `path:"holdId" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"`
	Body   struct {
		Amount    int64      `json:"amount" minimum:"1" maximum:"1000000000000000" doc:"In minor units."`
		Currency  string     `json:"currency" minLength:"3" maxLength:"3" pattern:"^[A-Z]{3}$" doc:"ISO 4217." example:"EUR"`
		ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"When the hold expires."`
	}
}

// hold is money set aside for one purpose.
type hold struct {
	HoldID    string     `json:"holdId"`
	AccountID string     `json:"accountId"`
	Amount    int64      `json:"amount"`
	Currency  string     `json:"currency"`
	Status    string     `json:"status" enum:"active,settled,released,expired"`
	Remaining int64      `json:"remaining" doc:"What is still held."`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
}

type holdOutput struct {
	input.Repeat
	Status int
	Body   hold
}

func (t tenant) showHold(h ledger.Hold) hold {
	return hold{
		HoldID:    t.publicID(h.ID),
		AccountID: t.publicID(h.Account),
		Amount:    h.Amount,
		Currency:  h.Currency,
		Status:    string(h.Status),
		Remaining: h.Remaining,
		ExpiresAt: optionalTime(h.ExpiresAt),
		CreatedAt: h.CreatedAt,
	}
}

type listHoldsInput struct {
	input.StoredAccount
	input.Page
}

type listHoldsOutput struct {
	Body struct {
		Holds []hold `json:"holds"`
		Next  string `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

func (s *service) listHolds(ctx context.Context, c caller, in *listHoldsInput) (*listHoldsOutput, error) {
	binding := []string{"holds", string(c.tenant), in.AccountID}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	// An account that does not exist is a 404. One without holds has an empty list.
	if _, err := s.getAccount(ctx, c, &in.StoredAccount); err != nil {
		return nil, err
	}

	found, next, err := s.cfg.Ledger.Holds(ctx, c.tenant.storedID(in.AccountID), position, in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listHoldsOutput{}
	out.Body.Holds, out.Body.Next = make([]hold, len(found)), s.cursors.seal(next, binding...)

	for i, h := range found {
		out.Body.Holds[i] = c.tenant.showHold(h)
	}

	return out, nil
}

func (s *service) holdMoney(ctx context.Context, c caller, in *holdMoneyInput) (*holdOutput, error) {
	n := ledger.NewHold{
		ID:       c.tenant.storedID(in.HoldID),
		Account:  c.tenant.storedID(in.AccountID),
		Amount:   in.Body.Amount,
		Currency: in.Body.Currency,
	}
	if in.Body.ExpiresAt != nil {
		n.ExpiresAt = *in.Body.ExpiresAt
	}

	made, replayed, err := s.cfg.Ledger.Reserve(ctx, n)
	if err != nil {
		return nil, err
	}

	out := &holdOutput{Status: http.StatusCreated, Body: c.tenant.showHold(made)}
	if replayed {
		out.MarkReplayed()
	}

	return out, nil
}

func (s *service) getHold(ctx context.Context, c caller, in *getHoldInput) (*holdOutput, error) {
	found, there, err := s.cfg.Ledger.Hold(ctx, c.tenant.storedID(in.AccountID), c.tenant.storedID(in.HoldID))
	if err == nil && !there {
		err = notFound("hold")
	}

	if err != nil {
		return nil, err
	}

	return &holdOutput{Status: http.StatusOK, Body: c.tenant.showHold(found)}, nil
}

func (s *service) releaseHold(ctx context.Context, c caller, in *holdPath) (*holdOutput, error) {
	released, err := s.cfg.Ledger.Release(ctx, c.tenant.storedID(in.AccountID), c.tenant.storedID(in.HoldID))
	if err != nil {
		return nil, err
	}

	return &holdOutput{Status: http.StatusOK, Body: c.tenant.showHold(released)}, nil
}
