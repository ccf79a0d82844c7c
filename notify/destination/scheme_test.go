package destination_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ratchet/notify"
	"ratchet/notify/destination"
)

type pager struct{ number string }

func (p pager) Send(context.Context, notify.Message) (notify.Answer, error) {
	return notify.Answer{Text: "paged " + p.number}, nil
}

func endpoint(to string) notify.Endpoint {
	return notify.Endpoint{ID: "e", Settings: notify.Settings{Destination: to}}
}

// TestAnOwnSchemeIsCheckedAndOpenedLikeABuiltInOne: its rule holds before an endpoint is stored.
func TestAnOwnSchemeIsCheckedAndOpenedLikeABuiltInOne(t *testing.T) {
	opener := destination.Opener{Schemes: map[string]destination.Scheme{"pager": {
		Check: func(e notify.Endpoint) error {
			if e.Destination == "pager:" {
				return errors.New("pager: needs a number")
			}

			return nil
		},
		Open: func(e notify.Endpoint) (notify.Destination, error) {
			return pager{strings.TrimPrefix(e.Destination, "pager:")}, nil
		},
	}}}

	d, err := opener.Open(endpoint("pager:112"))
	if err != nil {
		t.Fatal(err)
	}

	if answer, err := d.Send(t.Context(), message); err != nil || answer.Text != "paged 112" {
		t.Errorf("%v, %v", answer, err)
	}

	for to, want := range map[string]string{
		"pager:":   "pager: needs a number",
		"fax:1":    "or pager:…",
		"file:out": "only in the setting",
	} {
		if err := opener.Check(endpoint(to)); !errors.Is(err, notify.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", to, err, want)
		}

		if _, err := opener.Open(endpoint(to)); err == nil {
			t.Errorf("%s is opened", to)
		}
	}
}

func TestAnOwnSchemeHasANameOfItsOwn(t *testing.T) {
	open := func(notify.Endpoint) (notify.Destination, error) { return pager{}, nil }

	for name, scheme := range map[string]destination.Scheme{
		"https": {Open: open}, "none": {Open: open}, "Pager": {Open: open}, "": {Open: open}, "a:b": {Open: open}, "pager": {},
	} {
		if err := destination.CheckSchemes(map[string]destination.Scheme{name: scheme}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}

	if err := destination.CheckSchemes(map[string]destination.Scheme{"pager": {Open: open}}); err != nil {
		t.Error(err)
	}
}
