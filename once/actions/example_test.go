package actions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

// openExample opens actions on an embedded engine. A service passes its own client, and
// keys from its secret store.
func openExample() (all *actions.Actions, closeAll func()) {
	dir, err := os.MkdirTemp("", "actions")
	must(err)
	engine, err := embedded.Open(embedded.Config{Dir: dir, Log: embeddedtest.Quiet()})
	must(err)
	db := dynamodb.NewFromConfig(engine.AWSConfig())
	_, err = db.CreateTable(context.Background(), actions.TableInput("ratchet-actions"))
	must(err)
	all, err = actions.New(actions.Config{DynamoDB: db, Table: "ratchet-actions", Keys: []actions.Key{actions.NewKey(1)}})
	must(err)

	return all, func() {
		must(engine.Close())
		must(os.RemoveAll(dir))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A magic link contains the id. The page behind it only reads, because mail scanners open
// every link. Its button consumes.
func Example_magicLink() {
	all, closeAll := openExample()
	defer closeAll()
	ctx := context.Background()

	link, err := all.Create(ctx, actions.Spec{Payload: json.RawMessage(`{"user":"u-17"}`), ExpiresAt: time.Now().Add(15 * time.Minute)})
	must(err)

	for range 3 { // two mail scanners and the person
		page, _, err := all.Get(ctx, link.ID)
		must(err)
		fmt.Println("page:", page.Public().State)
	}

	click := actions.Request{ID: link.ID, ConsumeID: "the button's hidden field, drawn when the page was made"}
	for range 2 { // a double click
		r, err := all.Consume(ctx, click)
		must(err)
		fmt.Println("button:", r.Outcome, string(r.Payload))
	}
	r, err := all.Consume(ctx, actions.Request{ID: link.ID})
	must(err)
	fmt.Println("another person with the link:", r.Outcome, string(r.Payload))
	// Output:
	// page: active
	// page: active
	// page: active
	// button: consumed {"user":"u-17"}
	// button: consumed {"user":"u-17"}
	// another person with the link: already_used
}

// Coupons are codes of a batch. The checkout holds one while the customer pays.
func Example_coupon() {
	all, closeAll := openExample()
	defer closeAll()
	ctx := context.Background()

	var codes []actions.ID
	must(all.Bulk(ctx, actions.Batch{ID: "spring-2027", Prefix: "SPRING", Count: 1000, Payload: json.RawMessage(`{"percentOff":10}`),
		ExpiresAt: time.Now().Add(30 * 24 * time.Hour)},
		func(c actions.BatchAction) error { codes = append(codes, c.Code); return nil }))
	fmt.Println(len(codes), "codes")

	cart := actions.Request{ID: codes[0], Holder: "cart-1"}
	held, err := all.Reserve(ctx, cart, 10*time.Minute)
	must(err)
	fmt.Println("cart-1:", held.Outcome, string(held.Payload))
	other, err := all.Reserve(ctx, actions.Request{ID: codes[0], Holder: "cart-2"}, 10*time.Minute)
	must(err)
	fmt.Println("cart-2:", other.Outcome)

	cart.Fence, cart.ConsumeID = held.Fence, "order-1"
	paid, err := all.Consume(ctx, cart)
	must(err)
	fmt.Println("cart-1 has paid:", paid.Outcome)
	typo, err := all.Consume(ctx, actions.Request{ID: "SPRING-00000-00000-00000-00000"})
	must(err)
	fmt.Println("a guess:", typo.Outcome)
	// Output:
	// 1000 codes
	// cart-1: reserved {"percentOff":10}
	// cart-2: held
	// cart-1 has paid: consumed
	// a guess: action_not_found
}

// A ticket is valid in the evening only. The guest knows a PIN, so a copied bar code is
// useless.
func Example_ticket() {
	all, closeAll := openExample()
	defer closeAll()
	ctx := context.Background()

	doors := time.Now().Add(-time.Hour)
	ticket, err := all.Create(ctx, actions.Spec{RequestID: "order-9/seat-14", PIN: "4711", Payload: json.RawMessage(`{"seat":14}`),
		ActiveAt: doors, ExpiresAt: doors.Add(6 * time.Hour)})
	must(err)

	scan := func(gate string, pin actions.PIN) {
		r, err := all.Consume(ctx, actions.Request{ID: ticket.ID, PIN: pin, ConsumeID: gate})
		must(err)
		fmt.Println(strings.TrimSpace(fmt.Sprint(gate, ": ", r.Outcome, " ", string(r.Payload))))
	}
	scan("gate-1/scan-1", "0000")
	scan("gate-1/scan-2", "4711")
	scan("gate-1/scan-2", "4711") // the gate lost the answer
	scan("gate-2/scan-1", "4711")
	// Output:
	// gate-1/scan-1: invalid_pin
	// gate-1/scan-2: consumed {"seat":14}
	// gate-1/scan-2: consumed {"seat":14}
	// gate-2/scan-1: already_used
}

// An approval is asked of several people and given by one of them. The owner may withdraw
// it. Of granting and withdrawing one wins.
func Example_approval() {
	all, closeAll := openExample()
	defer closeAll()
	ctx := context.Background()

	ask := func(what string) actions.ID {
		made, err := all.Create(ctx, actions.Spec{RequestID: what, Payload: json.RawMessage(`"` + what + `"`), ExpiresAt: time.Now().Add(24 * time.Hour)})
		must(err)
		return made.ID
	}
	refund := ask("refund order-3")
	r, err := all.Consume(ctx, actions.Request{ID: refund, ConsumeID: "anna, form 8f3bc1d0"})
	must(err)
	fmt.Println("anna:", r.Outcome, string(r.Payload))
	r, err = all.Cancel(ctx, refund)
	must(err)
	fmt.Println("withdrawn too late:", r.Outcome)

	discount := ask("discount order-4")
	r, err = all.Cancel(ctx, discount)
	must(err)
	fmt.Println("withdrawn:", r.Outcome)
	r, err = all.Consume(ctx, actions.Request{ID: discount, ConsumeID: "anna, form 8f3bc1d0"})
	must(err)
	fmt.Println("anna:", r.Outcome)
	// Output:
	// anna: consumed "refund order-3"
	// withdrawn too late: already_used
	// withdrawn: canceled
	// anna: canceled
}
