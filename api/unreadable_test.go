package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/api/auth"
	"ratchet/tests/shop"
)

// change sets attributes of a stored order to a text, as another program would.
func (s *apiServer) change(order string, attributes ...string) {
	s.t.Helper()

	for _, name := range attributes {
		_, err := s.db.UpdateItem(s.t.Context(), &dynamodb.UpdateItemInput{
			TableName:                 aws.String(shop.OrdersTable),
			Key:                       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: order}},
			UpdateExpression:          aws.String("SET #a = :text"),
			ExpressionAttributeNames:  map[string]string{"#a": name},
			ExpressionAttributeValues: map[string]types.AttributeValue{":text": &types.AttributeValueMemberS{Value: "x"}},
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestWhatCannotBeReadIsNamedBesideTheOrder wherever an order is shown.
func TestWhatCannotBeReadIsNamedBesideTheOrder(t *testing.T) {
	s := newAPIServer(t, dev)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	incarnation := string(s.incarnation("o-1"))

	whole := s.want(s.ask("GET", "/v1/orders/o-1", ""), http.StatusOK, "")
	if strings.Contains(whole.text, "unreadable") || whole.field("incarnation") != incarnation {
		t.Errorf("an order as Ratchet writes it: %s", whole.text)
	}

	s.change("o-1", "total", "createdAt", "shippingAddress")
	const named = `"unreadable":["createdAt","shippingAddress","total"]`

	for _, a := range []answer{
		s.ask("GET", "/v1/orders/o-1", ""),
		s.ask("GET", "/v1/orders", ""),
		s.ask("GET", "/v1/orders/o-1/explanation", ""),
		s.ask("POST", "/v1/orders/o-1/transitions", `{"event":"hold"}`, "Idempotency-Key", "k"),
		s.ask("POST", "/v1/orders/o-1/notes", `{"text":"x"}`, "Idempotency-Key", "n"),
	} {
		if a.StatusCode != http.StatusOK || !strings.Contains(a.text, named) || !strings.Contains(a.text, incarnation) {
			t.Errorf("%d %s", a.StatusCode, a.text)
		}

		// A time of which nothing is known is not shown.
		if strings.Contains(a.text, "0001-01-01") || strings.Contains(a.text, `"total":`) {
			t.Errorf("it shows what cannot be read: %s", a.text)
		}
	}
}

// TestAnOrderThatCannotBeReadAtAllHidesNoOther and is named with the attribute.
func TestAnOrderThatCannotBeReadAtAllHidesNoOther(t *testing.T) {
	s := newAPIServer(t, nil)
	acme, evil := s.key("acme", auth.Admin), s.key("evil", auth.Admin)

	for _, id := range []string{"o-1", "o-2", "o-3"} {
		s.want(s.ask("PUT", "/v1/orders/"+id, mugs, "Authorization", acme), http.StatusCreated, "")
	}
	s.change("acme:o-2", "transitionId")

	const reason = "attribute transitionId is not a number"

	a := s.want(s.ask("GET", "/v1/orders/o-2", "", "Authorization", acme), http.StatusConflict, "order_unreadable")
	if !strings.Contains(a.text, reason) {
		t.Error(a.text)
	}
	s.want(s.ask("POST", "/v1/orders/o-2/transitions", `{"event":"hold"}`, "Idempotency-Key", "k", "Authorization", acme), http.StatusConflict, "order_unreadable")

	a = s.want(s.ask("GET", "/v1/orders", "", "Authorization", acme), http.StatusOK, "")
	if a.field("unreadable") != `[{"orderId":"o-2","reason":"`+reason+`"}]` || strings.Count(a.text, `"createdAt"`) != 2 {
		t.Error(a.text)
	}

	if a := s.want(s.ask("GET", "/v1/orders", "", "Authorization", evil), http.StatusOK, ""); strings.Contains(a.text, "o-2") {
		t.Errorf("another tenant: %s", a.text)
	}
}
