package processes_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/processes"
)

// A process keeps a row while it runs, and marks it when it stops.
func Example() {
	cfg, closeAll := embeddedtest.OpenExample(processes.TableInput("processes"))
	defer closeAll()

	store, err := processes.New(processes.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "processes"})
	if err != nil {
		panic(err)
	}

	show := func() {
		all, err := store.Check(context.Background())
		if err != nil {
			panic(err)
		}

		for _, p := range all {
			fmt.Println(p.Name, p.Parts, p.State)
		}
	}

	ctx, stop := context.WithCancel(context.Background())
	store.Run(ctx, processes.Self{
		Report: func(context.Context) processes.Report {
			return processes.Report{Name: "importer", Parts: []string{"import"}, Ready: true}
		},
		Beaten: func(context.Context, int64) {
			show()
			stop()
		},
	})
	show()
	// Output:
	// importer [import] live
	// importer [import] ended
}
