package doctor_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/doctor"
	"ratchet/transitions"
)

// A table that another program has is never said to be made by `ratchet init`.
func TestATableOfAnotherProgramIsNotMadeByInit(t *testing.T) {
	mapping := transitions.Mapping{PartitionKey: "pk", Key: "ORDER#{id}", SortKey: "sk", Sort: "ORDER"}
	table := mapping.OrdersTable("shop")
	cfg := embeddedtest.Backend(t)

	examine := func() doctor.Check {
		t.Helper()

		for _, c := range doctor.Examine(t.Context(), doctor.Config{AWS: cfg, InProcess: true, Tables: []doctor.Table{{Input: table, Given: true}}}) {
			if c.Subject == "table shop" {
				return c
			}
		}
		t.Fatal("the table was not looked at")

		return doctor.Check{}
	}

	missing := examine()
	if want := "create the table with the key pk (S), sk (S) and a stream of NEW_AND_OLD_IMAGES; `ratchet init` never does"; !strings.Contains(missing.Action, want) {
		t.Errorf("missing: %+v", missing)
	}

	db := dynamodb.NewFromConfig(cfg)
	other := transitions.Mapping{}.OrdersTable("shop")
	embeddedtest.Create(t, db, other)

	if wrong := examine(); !strings.Contains(wrong.Action, "orders-key") || strings.Contains(wrong.Action, "init") {
		t.Errorf("another key: %+v", wrong)
	}

	if _, err := db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: other.TableName}); err != nil {
		t.Fatal(err)
	}
	embeddedtest.Create(t, db, table)

	if fits := examine(); fits.Result != doctor.OK || strings.Contains(fits.Found, "init") {
		t.Errorf("as it should be: %+v", fits)
	}
}
