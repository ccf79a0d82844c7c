package once_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func BenchmarkDo(b *testing.B) {
	db := dynamodb.NewFromConfig(embeddedtest.Open(b).AWSConfig())
	embeddedtest.Create(b, db, once.TableInput("once"))

	claims, err := once.New(once.Config{DynamoDB: db, Table: "once"})
	if err != nil {
		b.Fatal(err)
	}
	do := func(b *testing.B, key string) {
		if _, _, err := claims.Do(b.Context(), key, payload, (&work{}).do); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()

		for n := 0; b.Loop(); n++ {
			do(b, "first/"+strconv.Itoa(b.N)+"/"+strconv.Itoa(n))
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		b.ReportAllocs()

		for b.Loop() {
			do(b, "duplicate")
		}
	})
}
