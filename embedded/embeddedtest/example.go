package embeddedtest

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
)

// OpenExample opens an engine with the tables for an Example function, which has no testing.TB, and
// panics if it cannot. Call closeAll at the end; it removes the data.
func OpenExample(tables ...*dynamodb.CreateTableInput) (cfg aws.Config, closeAll func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}

	engine, err := embedded.Open(embedded.Config{Dir: dir, Log: Quiet()})
	if err != nil {
		panic(errors.Join(err, os.RemoveAll(dir)))
	}

	closeAll = func() {
		if err := errors.Join(engine.Close(), os.RemoveAll(dir)); err != nil {
			panic(err)
		}
	}

	db := dynamodb.NewFromConfig(engine.AWSConfig())
	for _, table := range tables {
		if _, err := db.CreateTable(context.Background(), table); err != nil {
			closeAll()
			panic(err)
		}
	}

	return engine.AWSConfig(), closeAll
}
