package start

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ratchet/console"
	"ratchet/server"
	"ratchet/workflow"
)

// programName is how a user calls this program again. A program that `go run` has built is gone afterwards.
func programName() string {
	path := os.Args[0]

	switch name := filepath.Base(path); {
	case strings.Contains(path, string(filepath.Separator)+"go-build"):
		return "go run ."
	case name == path:
		return name // found in the PATH
	default:
		return path
	}
}

// SampleOrder returns the command and the body that place an order of the definition. It may have no lines and
// no total.
func SampleOrder(d *workflow.Definition) (create, body string) {
	var parts []string
	create = "orders create sample-1"

	if d.Has(workflow.PartItems) {
		create += " --item mug:2:1250 --stock 10"
		parts = append(parts, `"items":[{"sku":"mug","quantity":1,"price":1250}]`)
	}

	if d.Has(workflow.PartTotal) {
		if !d.Has(workflow.PartItems) {
			create += " --total 1250"
		}
		parts = append(parts, `"total":{"amount":1250,"currency":"EUR"}`)
	}

	return create, "{" + strings.Join(parts, ",") + "}"
}

// banner prints how to use the process.
func banner(out io.Writer, b *server.Backend, at endpoints, name, arn string) {
	ratchet := programName()
	// Only a directory that is not the default one has to be named.
	if b.Config.Data != (server.Config{}).WithDefaults().Data {
		ratchet += " --data " + b.Config.Data
	}

	create, body := SampleOrder(b.Orders.Definition())

	fmt.Fprintf(out, `Ratchet is running. One endpoint for DynamoDB, DynamoDB Streams, Step Functions and SQS:

  %s   (loopback; callers are not authenticated)

In a second terminal:
  %[5]s %[6]s
  %[5]s orders watch sample-1
  %[5]s executions list

`, at.engine, b.Config.Data, b.Tables.Orders, arn, ratchet, create)

	if name == "dev" {
		fmt.Fprintf(out, `See the orders in a browser (docs/operate/console.md):
  %s%s/

The HTTP API is at %[1]s (loopback; callers are not authenticated; docs/guides/api.md):
  curl -X PUT %[1]s/v1/orders/sample-2 -H 'Content-Type: application/json' \
    -d '%[3]s'
  curl %[1]s/v1/orders/sample-2

`, at.api, console.Path, body)
	} else {
		apiBanner(out, at.api, ratchet, b.Config.Console.Console != "off")
	}

	if at.admin != "" {
		fmt.Fprintf(out, "Health and metrics are at %s (docs/operate/monitoring.md):\n  %s health --url %[1]s\n\n", at.admin, ratchet)
	}

	fmt.Fprintf(out, `With the AWS CLI (any credentials work):
  export AWS_ENDPOINT_URL=%[1]s AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x
  export AWS_DISABLE_HOST_PREFIX_INJECTION=true   # for start-sync-execution and test-state; other SDKs: docs/guides/engine.md
  aws dynamodb scan --table-name %[3]s
  aws stepfunctions list-executions --state-machine-arn %[4]s

Data: %[2]s. Stop with Ctrl-C; no data is lost.
`, at.engine, b.Config.Data, b.Tables.Orders, arn)
}
