package doctor_test

import (
	"context"
	"fmt"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/operate/doctor"
)

// One of two tables is missing.
func ExampleExamine() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	checks := doctor.Examine(context.Background(), doctor.Config{
		AWS:       cfg,
		InProcess: true,
		Tables: []doctor.Table{
			{Input: once.TableInput("once")},
			{Input: once.TableInput("locks")},
		},
		Permissions: []doctor.Permission{{Action: "dynamodb:GetItem", Resource: "table/once"}},
	})

	for _, c := range checks {
		if c.Result == doctor.Failure {
			fmt.Println(c.Subject)
		}
	}
	// Output: table locks
}
