package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// TestAWorkerRefusesAStreamWithoutImages: with keys only, no reaction would ever act, and
// nothing would say so.
func TestAWorkerRefusesAStreamWithoutImages(t *testing.T) {
	b, err := server.Embed(server.Config{Data: filepath.Join(t.TempDir(), "data")}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, view := range []*types.StreamSpecification{
		{StreamEnabled: aws.Bool(false)},
		{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	} {
		if _, err := b.DynamoDB.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &b.Tables.Orders, StreamSpecification: view}); err != nil {
			t.Fatal(err)
		}
	}

	if err := b.Run(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "KEYS_ONLY") {
		t.Errorf("Run: %v, want the view type", err)
	}
}
