package deploy_test

import (
	"context"
	"fmt"
	"strings"

	"ratchet/server"
	"ratchet/server/deploy"
)

// The templates of a program are made of its configuration; nothing is connected to.
func Example() {
	program, err := server.Deployment(context.Background(), server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	files, err := deploy.Terraform.Files(program)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(program.Workflow, len(program.Activities))
	fmt.Println(strings.Contains(string(files["main.tf"]), `resource "aws_sfn_state_machine"`))
	// Output:
	// order 4
	// true
}
