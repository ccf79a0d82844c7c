package api_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/tests/shop"
	"ratchet/transitions"
)

func TestCreateOrderIsIdempotentByKey(t *testing.T) {
	s := newAPIServer(t, dev)
	first := s.want(s.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k1"), http.StatusCreated, "")
	again := s.want(s.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k1"), http.StatusCreated, "")
	if first.field("orderId") != again.field("orderId") || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("first %s\nrepeat %s", first.text, again.text)
	}

	if first.Header.Get("Location") != "/v1/orders/"+first.field("orderId") || !strings.HasPrefix(first.Header.Get("ETag"), `"t1.c0.`) {
		t.Errorf("headers %v", first.Header)
	}
	s.want(s.ask("POST", "/v1/orders", `{"total":{"amount":1,"currency":"EUR"}}`, "Idempotency-Key", "k1"), http.StatusConflict, "idempotency_key_reused")
	s.want(s.ask("POST", "/v1/orders", mugs), http.StatusBadRequest, "idempotency_key_missing")
	s.want(s.ask("GET", "/v1/orders/"+first.field("orderId"), ""), http.StatusOK, "")
}

func TestPutOrderIsIdempotentByID(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	if again := s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, ""); again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%v", again.Header)
	}
	s.want(s.ask("PUT", "/v1/orders/o-1", `{"total":{"amount":1,"currency":"EUR"}}`), http.StatusConflict, "conflict")
	s.want(s.ask("GET", "/v1/orders/o-2", ""), http.StatusNotFound, "order_not_found")
}

func TestEveryVerdictHasItsStatus(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	move := func(key, body string, headers ...string) answer {
		t.Helper()
		return s.ask("POST", "/v1/orders/o-1/transitions", body, append(headers, "Idempotency-Key", key)...)
	}

	a := s.want(move("pay", `{"event":"pay"}`), http.StatusOK, "")
	if a.field("verdict") != "Applied" || a.field("transition", "transitionId") != "2" || a.field("order", "state") != "PAYMENT_RECEIVED" || !strings.HasPrefix(a.Header.Get("ETag"), `"t2.c0.`) {
		t.Errorf("applied: %s, %v", a.text, a.Header)
	}

	a = s.want(move("pay", `{"event":"pay"}`), http.StatusOK, "")
	if a.field("verdict") != "Applied" || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replayed: %s, %v", a.text, a.Header)
	}
	s.want(move("pay", `{"event":"cancel"}`), http.StatusConflict, "idempotency_key_reused")

	a = s.want(move("pay-2", `{"event":"pay"}`), http.StatusConflict, "wrong_state")
	if a.field("order", "state") != "PAYMENT_RECEIVED" || a.field("expected") != `["PENDING"]` || a.field("order", "transitionId") != "2" {
		t.Errorf("wrong state: %s", a.text)
	}
	s.want(move("late", `{"event":"cancel","transitionId":2}`), http.StatusConflict, "superseded")
	s.want(move("ship", `{"event":"ship","transitionId":9}`), http.StatusOK, "")
	s.want(move("ship", `{"event":"deliver","transitionId":9}`), http.StatusConflict, "conflict")
	s.want(move("later", `{"event":"deliver","transitionId":5}`), http.StatusConflict, "superseded")
	s.want(move("illegal", `{"event":"pay","from":"DELIVERED"}`), http.StatusUnprocessableEntity, "illegal")

	// Under these keys an execution would take the transition for its own.
	for _, key := range []string{"payment/paid", `"payment/paid"`, "payment/declined", "accept/out-of-stock", "refund/returned", "carrier/1"} {
		s.want(move(key, `{"event":"deliver"}`), http.StatusUnprocessableEntity, "invalid_request")
	}
	s.want(move("unknown", `{"event":"fly"}`), http.StatusUnprocessableEntity, "illegal")
	s.want(move("place", `{"event":"place"}`), http.StatusUnprocessableEntity, "invalid_request")
	s.want(s.ask("POST", "/v1/orders/o-2/transitions", `{"event":"pay"}`, "Idempotency-Key", "k"), http.StatusNotFound, "order_not_found")
	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`), http.StatusBadRequest, "idempotency_key_missing")
}

func TestIfMatchOfATransition(t *testing.T) {
	s := newAPIServer(t, dev)
	tag := s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "").Header.Get("ETag")
	path := "/v1/orders/o-1/transitions"
	// The order that had the id before was at the same transition.
	s.want(s.ask("POST", path, `{"event":"hold"}`, "Idempotency-Key", "of-another-life", "If-Match", `"t1.c0.0000000000001"`), http.StatusPreconditionFailed, "superseded")
	s.want(s.ask("PUT", "/v1/orders/o-1/addresses/shipping", `{"city":"Bern"}`, "Idempotency-Key", "of-another-life", "If-Match", `"t1.c0.0000000000001"`),
		http.StatusPreconditionFailed, "superseded")
	s.want(s.ask("POST", path, `{"event":"hold"}`, "Idempotency-Key", "a", "If-Match", tag), http.StatusOK, "")
	a := s.want(s.ask("POST", path, `{"event":"release"}`, "Idempotency-Key", "b", "If-Match", tag), http.StatusPreconditionFailed, "superseded")
	s.want(s.ask("POST", path, `{"event":"release"}`, "Idempotency-Key", "b", "If-Match", a.Header.Get("ETag")), http.StatusOK, "")
	s.want(s.ask("POST", path, `{"event":"pay"}`, "Idempotency-Key", "c", "If-Match", `"t99.c0"`), http.StatusPreconditionFailed, "conflict")
	s.want(s.ask("POST", path, `{"event":"pay"}`, "Idempotency-Key", "c", "If-Match", "*"), http.StatusOK, "")
	s.want(s.ask("POST", path, `{"event":"pay","transitionId":9}`, "Idempotency-Key", "d", "If-Match", tag), http.StatusUnprocessableEntity, "invalid_request")

	for _, bad := range []string{`t1.c0`, `W/"t1.c0"`, `"t1.c0", "t2.c0"`, `"t1.c0.1"`, `"1"`, `"t99999999999999999999.c0"`} {
		s.want(s.ask("POST", path, `{"event":"ship"}`, "Idempotency-Key", "e", "If-Match", bad), http.StatusUnprocessableEntity, "invalid_request")
	}
}

func TestReservedItemsAreAddedWithTheirStock(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/inventory/cup", `{"available":3}`), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/orders/o-1", `{"total":{"amount":0,"currency":"EUR"},"execution":"none"}`), http.StatusCreated, "")
	add := func(key string, pieces int, more ...string) answer {
		return s.ask("POST", "/v1/orders/o-1/reserved-items", fmt.Sprintf(`{"items":[{"sku":"cup","quantity":%d,"price":300}]}`, pieces),
			append([]string{"Idempotency-Key", key}, more...)...)
	}
	first := add("a", 2)
	s.want(first, http.StatusOK, "")
	again := add("a", 2)
	s.want(again, http.StatusOK, "")

	if first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("Idempotent-Replayed must be on the repeat and not on the first answer")
	}
	s.want(add("a", 1), http.StatusConflict, "idempotency_key_reused")
	s.want(add("b", 2), http.StatusConflict, "out_of_stock")
	s.want(add("c", 1, "If-Match", first.Header.Get("ETag")), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/orders/unknown/reserved-items", `{"items":[{"sku":"cup","quantity":1,"price":300}]}`, "Idempotency-Key", "d"), http.StatusNotFound, "order_not_found")

	for path, want := range map[string]string{
		"/v1/inventory/cup": `"available":0,"reserved":3`,
		"/v1/orders/o-1":    `"amount":900`,
		// The reservation is of this life of the order.
		"/v1/reservations/o-1." + string(s.incarnation("o-1")): `"status":"reserved","lines":[{"sku":"cup","quantity":2},{"sku":"cup","quantity":1}]`,
	} {
		if got := s.ask("GET", path, "").text; !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestEditsAreIdempotentByKey(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	add := func(headers ...string) answer {
		return s.ask("POST", "/v1/orders/o-1/items", `{"items":[{"sku":"cup","quantity":1,"price":300}]}`, headers...)
	}

	a := s.want(add("Idempotency-Key", "a", "If-Match", `"t1.c0"`), http.StatusOK, "")
	if a.field("total", "amount") != "2800" || !strings.HasPrefix(a.Header.Get("ETag"), `"t1.c1.`) {
		t.Errorf("%s", a.text)
	}

	if a = s.want(add("Idempotency-Key", "a"), http.StatusOK, ""); a.Header.Get("Idempotent-Replayed") != "true" || a.field("total", "amount") != "2800" {
		t.Errorf("%s", a.text)
	}
	s.want(add("Idempotency-Key", "b", "If-Match", `"t1.c0"`), http.StatusPreconditionFailed, "superseded")
	s.want(add("Idempotency-Key", "c", "If-Match", `"t1.c9"`), http.StatusPreconditionFailed, "conflict")
	s.want(add(), http.StatusBadRequest, "idempotency_key_missing")
	s.want(s.ask("PUT", "/v1/orders/o-1/items/cup", `{"quantity":2,"price":300}`, "Idempotency-Key", "a"), http.StatusConflict, "idempotency_key_reused")
	s.want(s.ask("PUT", "/v1/orders/o-1/items/cup", `{"quantity":2,"price":300}`, "Idempotency-Key", "d"), http.StatusOK, "")
	s.want(s.ask("DELETE", "/v1/orders/o-1/items/cup", "", "Idempotency-Key", "e"), http.StatusOK, "")
	s.want(s.ask("DELETE", "/v1/orders/o-1/items/cup", "", "Idempotency-Key", "f"), http.StatusNotFound, "item_not_found")
	s.want(s.ask("PUT", "/v1/orders/o-1/addresses/shipping", `{"name":"A. Customer","city":"Berlin"}`, "Idempotency-Key", "g"), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/orders/o-1/addresses/home", `{"name":"A. Customer"}`, "Idempotency-Key", "h"), http.StatusUnprocessableEntity, "invalid_request")

	a = s.want(s.ask("POST", "/v1/orders/o-1/notes", `{"by":"desk","text":"ring twice"}`, "Idempotency-Key", "i"), http.StatusOK, "")
	if a.field("shippingAddress", "city") != "Berlin" || a.field("total", "amount") != "2500" || a.field("contentVersion") != "5" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("POST", "/v1/orders/o-2/notes", `{"text":"x"}`, "Idempotency-Key", "j"), http.StatusNotFound, "order_not_found")
	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`, "Idempotency-Key", "k"), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/orders/o-1/notes", `{"text":"x"}`, "Idempotency-Key", "l"), http.StatusConflict, "wrong_state")
}

func TestHistoryAndExplanation(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	for i, event := range []string{"hold", "release", "pay"} {
		s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"`+event+`"}`, "Idempotency-Key", strconv.Itoa(i)), http.StatusOK, "")
	}

	var events []string
	for next := ""; ; {
		path := "/v1/orders/o-1/transitions?limit=3"
		if next != "" {
			path += "&cursor=" + next
		}
		a := s.want(s.ask("GET", path, ""), http.StatusOK, "")
		var page struct {
			Transitions []struct{ Event string }
			Next        string
		}
		a.read(t, &page)

		for _, row := range page.Transitions {
			events = append(events, row.Event)
		}

		if next = page.Next; next == "" {
			break
		}
	}

	if len(events) != 4 || events[0] != "place" || events[3] != "pay" {
		t.Errorf("events %v", events)
	}

	if a := s.want(s.ask("GET", "/v1/orders/o-1/explanation", ""), http.StatusOK, ""); a.field("editable") != "false" || a.field("order", "state") != "PAYMENT_RECEIVED" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/orders/o-2/explanation", ""), http.StatusNotFound, "order_not_found")
	s.want(s.ask("GET", "/v1/orders/o-2/transitions", ""), http.StatusNotFound, "order_not_found")
}

func TestOrdersAreListedInPages(t *testing.T) {
	s := newAPIServer(t, dev)
	for i := range 25 {
		s.want(s.ask("PUT", "/v1/orders/o-"+strconv.Itoa(i), mugs), http.StatusCreated, "")
	}
	s.want(s.ask("POST", "/v1/orders/o-7/transitions", `{"event":"pay"}`, "Idempotency-Key", "k"), http.StatusOK, "")

	seen := map[string]bool{}
	for next := ""; ; {
		path := "/v1/orders?limit=10"
		if next != "" {
			path += "&cursor=" + next
		}
		var page struct {
			Orders []struct{ OrderID string }
			Next   string
		}
		s.want(s.ask("GET", path, ""), http.StatusOK, "").read(t, &page)

		for _, o := range page.Orders {
			if seen[o.OrderID] {
				t.Errorf("order %s is listed twice", o.OrderID)
			}
			seen[o.OrderID] = true
		}

		if next = page.Next; next == "" {
			break
		}
		s.want(s.ask("GET", "/v1/orders?limit=10&state=PENDING&cursor="+next, ""), http.StatusBadRequest, "invalid_cursor")

		other := "A"
		if next[0] == 'A' {
			other = "B"
		}
		s.want(s.ask("GET", "/v1/orders?cursor="+other+next[1:], ""), http.StatusBadRequest, "invalid_cursor")
	}

	if len(seen) != 25 {
		t.Errorf("%d orders listed, want 25", len(seen))
	}
	var page struct{ Orders []struct{ OrderID string } }
	s.want(s.ask("GET", "/v1/orders?state=PAYMENT_RECEIVED", ""), http.StatusOK, "").read(t, &page)

	if len(page.Orders) != 1 || page.Orders[0].OrderID != "o-7" {
		t.Errorf("orders in state PAYMENT_RECEIVED: %+v", page)
	}

	for _, query := range []string{"limit=0", "limit=101", "limit=x", "limit=", "limit=1&limit=2", "state=NOWHERE", "cursor=%20", "cursor=AAAA", "other=1"} {
		if a := s.ask("GET", "/v1/orders?"+query, ""); a.StatusCode != http.StatusUnprocessableEntity && a.code() != "invalid_cursor" {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.text)
		}
	}
}

func TestTheDefaultTenantSharesOrdersWithTheCommands(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	if o, found, err := s.cfg.Orders.Get(t.Context(), "o-1"); err != nil || !found || o.Items[0].SKU != "mug" {
		t.Errorf("%+v, %v", o, err)
	}

	if _, err := s.cfg.Orders.Create(t.Context(), transitions.NewOrder{
		ID:    "cli",
		Total: transitions.Money{Currency: "EUR"},
	}); err != nil {
		t.Fatal(err)
	}
	s.want(s.ask("GET", "/v1/orders/cli", ""), http.StatusOK, "")
}

// The two mugs of the order are shipped one after the other.
func TestAnOrderIsShippedInParcels(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	ship := func(id string, n int) answer {
		return s.ask("PUT", "/v1/orders/o-1/parcels/"+id, fmt.Sprintf(`{"lines":[{"sku":"mug","quantity":%d}]}`, n))
	}
	s.want(ship("p-1", 1), http.StatusConflict, "wrong_state") // not paid

	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`, "Idempotency-Key", "pay"), http.StatusOK, "")

	first := s.want(ship("p-1", 1), http.StatusOK, "")
	if first.field("order", "state") != "PARTIALLY_SHIPPED" || !strings.Contains(first.text, `"shipped":1`) || first.Header.Get("ETag") == "" {
		t.Errorf("%s", first.text)
	}

	if again := s.want(ship("p-1", 1), http.StatusOK, ""); again.field("verdict") != "Applied" || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s", again.text)
	}
	s.want(ship("p-1", 2), http.StatusConflict, "conflict")
	s.want(ship("p-2", 2), http.StatusConflict, "wrong_state") // more than is left

	if last := s.want(ship("p-2", 1), http.StatusOK, ""); last.field("order", "state") != "SHIPPED" {
		t.Errorf("%s", last.text)
	}
	s.want(s.ask("PUT", "/v1/orders/o-2/parcels/p-1", `{"lines":[{"sku":"mug","quantity":1}]}`), http.StatusNotFound, "order_not_found")
}

// A server with a newer definition has moved the order.
func TestAnOrderOfAnUnknownVersionIsNotMoved(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	_, err := s.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(shop.OrdersTable),
		Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}},
		UpdateExpression:          aws.String("SET definitionVersion = :v"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: "99"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.want(s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`, "Idempotency-Key", "k"), http.StatusConflict, "unknown_version")
}
