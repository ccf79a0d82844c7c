package api_test

import (
	"net/http"
	"strings"
	"testing"
)

const fullOrder = `{"total":{"amount":1,"currency":"EUR"},"customer":"c-1","reference":"R-17",` +
	`"shippingAddress":{"city":"Bonn"},"billingAddress":{"city":"Berlin"},"metadata":{"channel":"app"}}`

func TestAnOrderIsPlacedWithReferenceAddressesAndMetadata(t *testing.T) {
	s := newAPIServer(t, dev)

	for range 2 {
		a := s.want(s.ask("PUT", "/v1/orders/o-1", fullOrder), http.StatusCreated, "")
		if a.field("reference") != "R-17" || a.field("metadata", "channel") != "app" ||
			a.field("shippingAddress", "city") != "Bonn" || a.field("billingAddress", "city") != "Berlin" {
			t.Error(a.text)
		}
	}

	other := strings.Replace(fullOrder, "Berlin", "Hamburg", 1)
	s.want(s.ask("PUT", "/v1/orders/o-1", other), http.StatusConflict, "conflict")

	s.want(s.ask("PUT", "/v1/orders/o-2", `{"total":{"amount":1,"currency":"EUR"}}`), http.StatusCreated, "")

	a := s.want(s.ask("GET", "/v1/orders?reference=R-17", ""), http.StatusOK, "")
	if !strings.Contains(a.text, `"o-1"`) || strings.Contains(a.text, `"o-2"`) || a.field("scanned") != "true" {
		t.Error(a.text)
	}

	for _, secret := range []string{"Bonn", "Berlin", "Hamburg", "channel"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log shows %s", secret)
		}
	}
}

func TestWrongReferencesAndMetadataAreRefused(t *testing.T) {
	s := newAPIServer(t, dev)

	for member, pointer := range map[string]string{
		`"reference":"R 17"`:                                        "/reference",
		`"metadata":{"a b":"x"}`:                                    "/metadata",
		`"metadata":{"a":"` + strings.Repeat("x", 201) + `"}`:       "/metadata/a",
		`"metadata":{"a":"` + strings.Repeat("\u00fc", 101) + `"}`:  "/metadata",
		`"shippingAddress":{}`:                                      "/shippingAddress",
		`"billingAddress":{"a":"` + strings.Repeat("x", 513) + `"}`: "/billingAddress/a",
	} {
		a := s.want(s.ask("PUT", "/v1/orders/o-1", `{"total":{"amount":1,"currency":"EUR"},`+member+`}`), http.StatusUnprocessableEntity, "invalid_request")
		if !strings.Contains(a.text, `"`+pointer) {
			t.Errorf("%s: %s, want a pointer to %s", member, a.text, pointer)
		}
	}
}
