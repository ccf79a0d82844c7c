package notify_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/notify"
	"ratchet/workflow"
)

// TestEverySettingHasARule: what may just be is stored, and what may not is refused by its name.
func TestEverySettingHasARule(t *testing.T) {
	headers := func(n int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint("X-", i)] = "v"
		}

		return m
	}
	header := func(name, value string) func(*notify.Settings) {
		return func(s *notify.Settings) { s.Headers = map[string]string{name: value} }
	}
	states := func(n int) []workflow.State { return slices.Repeat([]workflow.State{"S"}, n) }
	events := func(n int) []workflow.Event { return slices.Repeat([]workflow.Event{"e"}, n) }

	var accepted []func(*notify.Settings)
	refused := map[string]func(*notify.Settings){}

	for _, row := range []struct {
		name             string
		accepts, refuses func(*notify.Settings)
	}{
		{"destination: 1 to 2048 bytes, got 2049", func(s *notify.Settings) { s.Destination = strings.Repeat("d", 2048) }, func(s *notify.Settings) { s.Destination = strings.Repeat("d", 2049) }},
		{"destination: 1 to 2048 bytes, got 0", nil, func(s *notify.Settings) { s.Destination = "" }},
		{"description: at most 256", func(s *notify.Settings) { s.Description = strings.Repeat("d", 256) }, func(s *notify.Settings) { s.Description = strings.Repeat("d", 257) }},
		{"description: at most 256 printable", nil, func(s *notify.Settings) { s.Description = "two\nlines" }},
		{`format "xml"`, func(s *notify.Settings) { s.Format = notify.CloudEvents }, func(s *notify.Settings) { s.Format = "xml" }},
		{"version 3: 1 to 2", func(s *notify.Settings) { s.Version = 2 }, func(s *notify.Settings) { s.Version = 3 }},
		{"version -1: 1 to 2", func(s *notify.Settings) { s.Version = 1 }, func(s *notify.Settings) { s.Version = -1 }},
		{"rate 10000.1: 0 to 10000", func(s *notify.Settings) { s.Rate = 10000 }, func(s *notify.Settings) { s.Rate = 10000.1 }},
		{"rate -0.1: 0 to 10000", func(s *notify.Settings) { s.Rate = 0.1 }, func(s *notify.Settings) { s.Rate = -0.1 }},
		{"rate NaN: 0 to 10000", nil, func(s *notify.Settings) { s.Rate = math.NaN() }},
		{"concurrency 65: 1 to 64", func(s *notify.Settings) { s.Concurrency = 64 }, func(s *notify.Settings) { s.Concurrency = 65 }},
		{"concurrency -1: 1 to 64", func(s *notify.Settings) { s.Concurrency = 1 }, func(s *notify.Settings) { s.Concurrency = -1 }},
		{"subject and text: at most 8192", func(s *notify.Settings) { s.Subject, s.Text = strings.Repeat("s", 8192), strings.Repeat("t", 8192) }, func(s *notify.Settings) { s.Subject = strings.Repeat("s", 8193) }},
		{"subject and text: at most 8192 bytes", nil, func(s *notify.Settings) { s.Text = strings.Repeat("t", 8193) }},
		{"headers: 17, at most 16", func(s *notify.Settings) { s.Headers = headers(16) }, func(s *notify.Settings) { s.Headers = headers(17) }},
		{"header X-1: at most 2048", header("X-1", strings.Repeat("v", 2048)), header("X-1", strings.Repeat("v", 2049))},
		{"header X-1: at most 2048 printable", nil, header("X-1", "a\r\nb: c")},
		{`header ""`, header(strings.Repeat("n", 64), "v"), header("", "v")},
		{`header "nnn`, header("azAZ09-", "v"), header(strings.Repeat("n", 65), "v")},
		{`header "X Y"`, nil, header("X Y", "v")},
		{`header "X/Y"`, nil, header("X/Y", "v")},
		{`header "X:Y"`, nil, header("X:Y", "v")},
		{`header "X@Y"`, nil, header("X@Y", "v")},
		{`header "X[Y"`, nil, header("X[Y", "v")},
		{"header \"X`Y\"", nil, header("X`Y", "v")},
		{`header "X{Y"`, nil, header("X{Y", "v")},
		{`header "content-length"`, nil, header("content-length", "1")},
		{`header "Webhook-Signature"`, nil, header("Webhook-Signature", "v1,x")},
		{`header "x-forwarded-for"`, nil, header("x-forwarded-for", "1.2.3.4")},
		{`header "Proxy-Authorization"`, nil, header("Proxy-Authorization", "x")},
		{"filter: 65 states, at most 64", func(s *notify.Settings) { s.Filter.States = states(64) }, func(s *notify.Settings) { s.Filter.States = states(65) }},
		{"filter: 65 events, at most 64", func(s *notify.Settings) { s.Filter.Events = events(64) }, func(s *notify.Settings) { s.Filter.Events = events(65) }},
		{`filter: state "a b"`, nil, func(s *notify.Settings) { s.Filter.States = []workflow.State{"a b"} }},
		{`filter: event ""`, nil, func(s *notify.Settings) { s.Filter.Events = []workflow.Event{""} }},
		{`filter: tenant "a b"`, func(s *notify.Settings) { s.Filter.Tenant = "acme" }, func(s *notify.Settings) { s.Filter.Tenant = "a b" }},
		{`filter: attribute "color"`, func(s *notify.Settings) {
			s.Filter.Attributes = map[string]string{"customer": strings.Repeat("c", 256)}
		}, func(s *notify.Settings) { s.Filter.Attributes = map[string]string{"color": "red"} }},
		{"filter: attribute customer: at most 256", nil, func(s *notify.Settings) {
			s.Filter.Attributes = map[string]string{"customer": strings.Repeat("c", 257)}
		}},
	} {
		if row.accepts != nil {
			accepted = append(accepted, row.accepts)
		}
		refused[row.name] = row.refuses
	}

	// NewEndpoints checks without a call of the table.
	check := func(edit func(*notify.Settings)) error {
		e := notify.Endpoint{ID: "shop", Settings: notify.Settings{Destination: "shop"}}
		edit(&e.Settings)
		_, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: &dynamodb.Client{}, Table: "endpoints", Configured: []notify.Endpoint{e}})

		return err
	}

	for i, edit := range accepted {
		if err := check(edit); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}

	for want, edit := range refused {
		if err := check(edit); !errors.Is(err, notify.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "invalid endpoint") != 1 {
			t.Errorf("error %v, want %s alone", err, want)
		}
	}
}
