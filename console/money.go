package console

import (
	"context"
	"net/http"
)

// moneyShown is what the page of money shows.
type moneyShown struct {
	state, account string

	payments  paymentList
	steps     []paymentStep // of the payment that is asked for
	accounts  accountList
	entries   entryList
	holds     holdList
	transfers transferList
}

type paymentList struct {
	Payments []paymentShown
	Next     string
}

type paymentShown struct {
	PaymentID, OrderID, State, Currency    string
	Amount, Captured, Refunded, Capturable int64
	Pending                                *paymentStep
	Steps                                  []paymentStep
	UpdatedAt                              moment
}

type paymentStep struct {
	ID, Kind, Outcome string
	Amount            int64
	At                moment
}

// pendingStep names the step in progress.
func (p paymentShown) pendingStep() string {
	if p.Pending == nil {
		return ""
	}

	return p.Pending.Kind
}

type accountList struct {
	Accounts []accountShown
	Next     string
}

type accountShown struct {
	AccountID, Currency, Side, Status string
	Balance, Available, Held, Entries int64
	UpdatedAt                         moment
}

type entryList struct {
	Entries []struct {
		TransferID      string
		Amount, Balance int64
		At              moment
	}
	Next string
}

type holdList struct {
	Holds []struct {
		HoldID, Status, Currency string
		Amount, Remaining        int64
		ExpiresAt                moment
	}
	Next string
}

type transferList struct {
	Transfers []struct {
		TransferID, Currency, Reference string
		Legs                            []struct {
			Account string
			Amount  int64
		}
		At moment
	}
	Next string
}

// moneyPart is how many rows of each list are on the page of money.
const moneyPart = "20"

func moneyOf(ctx context.Context, v *visit) (content, error) {
	m := moneyShown{state: v.query("state"), account: v.query("account")}

	if err := m.readPayments(ctx, v); err != nil {
		return content{}, err
	}

	if err := m.readAccounts(ctx, v); err != nil {
		return content{}, err
	}

	return content{"Money", moneyPage(v, m)}, nil
}

func (m *moneyShown) readPayments(ctx context.Context, v *visit) error {
	id := v.query("payment")
	if id == "" {
		return v.get(ctx, with("/v1/payments", "limit", moneyPart, "state", m.state, "cursor", v.query("payments")), &m.payments)
	}

	var p paymentShown
	if err := v.get(ctx, pathTo("/v1/payments/%s", id), &p); err != nil {
		return err
	}

	m.payments.Payments, m.steps = []paymentShown{p}, p.Steps
	if p.Pending != nil {
		m.steps = append(m.steps, *p.Pending)
	}

	return nil
}

func (m *moneyShown) readAccounts(ctx context.Context, v *visit) error {
	if m.account == "" {
		if err := v.get(ctx, with("/v1/accounts", "limit", moneyPart, "cursor", v.query("accounts")), &m.accounts); err != nil {
			return err
		}

		return v.get(ctx, with("/v1/transfers", "limit", moneyPart, "cursor", v.query("transfers")), &m.transfers)
	}

	var a accountShown
	if err := v.get(ctx, pathTo("/v1/accounts/%s", m.account), &a); err != nil {
		return err
	}
	m.accounts.Accounts = []accountShown{a}

	if err := v.get(ctx, with(pathTo("/v1/accounts/%s/entries", m.account), "limit", moneyPart, "cursor", v.query("entries")), &m.entries); err != nil {
		return err
	}

	return v.get(ctx, with(pathTo("/v1/accounts/%s/holds", m.account), "limit", moneyPart), &m.holds)
}

func paymentKind(state string) string {
	switch state {
	case "CAPTURED", "CHARGED":
		return "good"
	case "FAILED", "CHARGED_BACK", "DECLINED":
		return "bad"
	}

	return ""
}

func outcomeKind(outcome string) string {
	switch outcome {
	case "succeeded":
		return "good"
	case "failed":
		return "bad"
	}

	return "warn"
}

func accountKind(status string) string {
	if status == "open" {
		return "good"
	}

	return ""
}

// stockList is a page of SKUs, or one reservation.
type stockList struct {
	Levels []stockLevel
	Next   string

	reservation *reservationShown
}

type stockLevel struct {
	SKU                            string
	Available, Reserved, Committed int64
}

type reservationShown struct {
	OrderID, Status string
	Lines           []struct {
		SKU      string
		Quantity int64
	}
	ExpiresAt moment
}

func stock(ctx context.Context, v *visit) (content, error) {
	var (
		list stockList
		err  error
	)

	switch sku, order := v.query("sku"), v.query("order"); {
	case order != "":
		list.reservation = &reservationShown{}
		err = v.get(ctx, pathTo("/v1/reservations/%s", order), list.reservation)
	case sku != "":
		var level stockLevel
		err = v.get(ctx, pathTo("/v1/inventory/%s", sku), &level)
		list.Levels = []stockLevel{level}
	default:
		err = v.get(ctx, with("/v1/inventory", "limit", "50", "cursor", v.query("cursor")), &list)
	}

	if err != nil {
		return content{}, err
	}

	return content{"Stock", stockPage(v, list)}, nil
}

// oneShown is an action or a claim that a person looks for by its id.
type oneShown struct {
	key     string
	action  *actionShown
	claim   *claimShown
	missing string
}

type actionShown struct {
	State                                                   string
	PINRequired                                             bool
	AttemptsLeft                                            int
	CreatedAt, ExpiresAt, HeldUntil, ConsumedAt, CanceledAt moment
}

type claimShown struct {
	Status, FailureCode              string
	Fence, ResultBytes               int64
	ClaimedAt, LeaseUntil, UpdatedAt moment
}

// one shows an action or a claim. The id of an action is a secret: it comes in the body of a POST, which changes nothing, so that it
// is in no address, no history and no log of a proxy.
func one(ctx context.Context, v *visit) (content, error) {
	o := oneShown{key: v.query("claim")}

	if v.request.Method == http.MethodPost {
		if id := v.request.PostFormValue("action"); id != "" {
			o.action = &actionShown{}
			if err := v.getSecret(ctx, pathTo("/v1/actions/%s", id), "/v1/actions/$ACTION", o.action); err != nil {
				if !isMissing(err) {
					return content{}, err
				}
				o.action, o.missing = nil, "There is no such action."
			}
		}
	} else if o.key != "" {
		o.claim = &claimShown{}
		if err := v.get(ctx, pathTo("/v1/claims/%s", o.key), o.claim); err != nil {
			if !isMissing(err) {
				return content{}, err
			}
			o.claim, o.missing = nil, "There is no such claim."
		}
	}

	return content{"Actions and claims", onePage(o)}, nil
}

func actionKind(state string) string {
	switch state {
	case "active", "consumed":
		return "good"
	case "locked", "canceled", "expired":
		return "bad"
	}

	return "warn"
}

func claimKind(status string) string {
	switch status {
	case "COMPLETED":
		return "good"
	case "FAILED", "UNKNOWN":
		return "bad"
	}

	return "warn"
}
