package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func engineCommand(s *settings.Settings) *cobra.Command {
	shards := &cobra.Command{Use: "shards", Short: "List the shards of the orders' stream", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withStream(c.Context(), s, func(b *server.Backend, arn string) error {
				return printShards(c.Context(), c.OutOrStdout(), b, arn, s.JSON)
			})
		}}
	roll := &cobra.Command{Use: "roll", Short: "Close every open shard and give each one child", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return admin(s, c, "RollShards", map[string]string{})
		}}
	split := &cobra.Command{Use: "split SHARD", Short: "Close an open shard and give it two children", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return admin(s, c, "SplitShard", map[string]string{"ShardId": args[0]})
		}}
	trim := &cobra.Command{Use: "trim", Short: "Remove the stream's records up to now, as AWS does after 24 hours", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return admin(s, c, "TrimStream", map[string]string{})
		}}

	return settings.Group("engine", "List, roll over, split and trim the shards of the embedded engine's stream", shards, roll, split, trim)
}

// withStream runs fn with the ARN of the orders' stream.
func withStream(ctx context.Context, s *settings.Settings, fn func(b *server.Backend, arn string) error) error {
	// The engine's operations name a stream by its ARN, which changes when a table is made again.
	return s.With(ctx, func(b *server.Backend) error {
		table, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.Tables.Orders})
		if err != nil {
			return fmt.Errorf("describe table %s: %w", b.Tables.Orders, err)
		}

		return fn(b, aws.ToString(table.Table.LatestStreamArn))
	})
}

// adminTarget is the beginning of the X-Amz-Target of the engine's admin service. AWS has no such
// service.
const adminTarget = "RatchetEngine_20261121."

// refusal is the engine's answer in words.
func refusal(operation, shard string, answer []byte) error {
	var said struct {
		Message string `json:"message"`
	}

	if err := json.Unmarshal(answer, &said); err != nil || said.Message == "" {
		return exit.UsageError("%s: %s", operation, answer)
	}

	if shard != "" {
		return exit.UsageError("SHARD %q: %s (`ratchet engine shards` lists them)", shard, said.Message)
	}

	return exit.UsageError("engine: %s", said.Message)
}

// admin calls an operation of the engine's admin service and prints the shards after it.
func admin(s *settings.Settings, c *cobra.Command, operation string, members map[string]string) error {
	return withStream(c.Context(), s, func(b *server.Backend, arn string) error {
		members["StreamArn"] = arn

		body, err := json.Marshal(members)
		if err != nil {
			return err
		}

		// AWS would answer the unknown operation with an error that says less.
		if b.Engine == nil && b.Config.EndpointURL == "" {
			return exit.UsageError("engine: only the embedded engine has these operations; AWS rolls its shards over itself")
		}
		ctx, cancel := context.WithTimeout(c.Context(), 30*time.Second)
		defer cancel()

		response, err := requestEngine(ctx, b, adminTarget+operation, bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}

		answer, err := readAnswer(response)
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}

		if response.StatusCode != http.StatusOK {
			return refusal(operation, members["ShardId"], answer)
		}

		return printShards(c.Context(), c.OutOrStdout(), b, arn, s.JSON)
	})
}

// printShards prints the stream's shards, parents first.
func printShards(ctx context.Context, out io.Writer, b *server.Backend, arn string, asJSON bool) error {
	var all []streamtypes.Shard
	for input := (&dynamodbstreams.DescribeStreamInput{StreamArn: &arn}); ; {
		page, err := b.Streams.DescribeStream(ctx, input)
		if err != nil {
			return fmt.Errorf("describe the stream: %w", err)
		}

		all = append(all, page.StreamDescription.Shards...)
		// DescribeStream returns up to 100 shards at a time.
		if input.ExclusiveStartShardId = page.StreamDescription.LastEvaluatedShardId; input.ExclusiveStartShardId == nil {
			break
		}
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "SHARD\tPARENT\tOPEN")
	}

	for _, shard := range all {
		// An open shard has no last sequence number.
		open := shard.SequenceNumberRange != nil && shard.SequenceNumberRange.EndingSequenceNumber == nil
		if asJSON {
			if err := terminal.PrintJSON(out, map[string]any{"shardId": shard.ShardId, "parentShardId": shard.ParentShardId, "open": open}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%v\n", aws.ToString(shard.ShardId), aws.ToString(shard.ParentShardId), open)
	}

	return w.Flush()
}
