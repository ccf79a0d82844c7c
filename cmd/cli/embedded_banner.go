package cli

import (
	"fmt"
	"io"

	"ratchet/server"
	"ratchet/workflow"
)

// banner prints how to use the process.
func banner(out io.Writer, b *server.Backend, at endpoints, name, arn string) {
	ratchet := "ratchet"
	// Only a directory that is not the default one has to be named.
	if b.Config.Data != (server.Config{}).WithDefaults().Data {
		ratchet += " --data " + b.Config.Data
	}

	create, body := "orders create o-1", "{}"
	// An order of another definition may have no lines.
	if b.Orders.Definition().Has(workflow.PartItems) {
		create += " --item mug:2:1250 --stock 10"
		body = `{"items":[{"sku":"mug","quantity":1,"price":1250}],"total":{"amount":1250,"currency":"EUR"}}`
	}

	fmt.Fprintf(out, `Ratchet is running. One endpoint for DynamoDB, DynamoDB Streams, Step Functions and SQS:

  %s   (loopback; callers are not authenticated)

In a second terminal:
  %[5]s %[6]s
  %[5]s orders watch o-1
  %[5]s executions list

`, at.engine, b.Config.Data, b.Tables.Orders, arn, ratchet, create)

	if name == "dev" {
		fmt.Fprintf(out, `The HTTP API is at %s (loopback; callers are not authenticated; docs/api.md):
  curl -X PUT %[1]s/v1/orders/o-2 -H 'Content-Type: application/json' \
    -d '%[2]s'
  curl %[1]s/v1/orders/o-2

`, at.api, body)
	} else {
		apiBanner(out, at.api, ratchet)
	}

	if at.admin != "" {
		fmt.Fprintf(out, "Health and metrics are at %s (docs/monitoring.md):\n  %s health --url %[1]s\n\n", at.admin, ratchet)
	}

	fmt.Fprintf(out, `With the AWS CLI (any credentials work):
  export AWS_ENDPOINT_URL=%[1]s AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x
  export AWS_DISABLE_HOST_PREFIX_INJECTION=true   # for start-sync-execution and test-state; other SDKs: docs/engine.md
  aws dynamodb scan --table-name %[3]s
  aws stepfunctions list-executions --state-machine-arn %[4]s

Data: %[2]s. Stop with Ctrl-C; no data is lost.
`, at.engine, b.Config.Data, b.Tables.Orders, arn)
}
