package telemetry

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"ratchet/internal/dynamo"
)

// TraceAWS makes spans of the calls of the clients that are made of cfg afterwards, if a span is
// around the call. Polls have none around them.
func (t *Tracing) TraceAWS(cfg *aws.Config) {
	if t == nil {
		return
	}

	traced := middleware.InitializeMiddlewareFunc("RatchetTracing",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			out middleware.InitializeOutput, metadata middleware.Metadata, err error,
		) {
			if !trace.SpanFromContext(ctx).IsRecording() {
				return next.HandleInitialize(ctx, in)
			}

			service, operation := middleware.GetServiceID(ctx), middleware.GetOperationName(ctx)
			about := []attribute.KeyValue{
				text(attrRPCSystem, valueRPCSystem),
				text(attrRPCService, service),
				text(attrRPCMethod, operation),
			}

			if table := tableOf(in.Parameters); table != "" {
				// The semantic conventions have a list of tables.
				about = append(about, attribute.StringSlice(attrRPCTables, []string{table}))
			}

			ctx, span := t.tracer.Start(ctx, service+"."+operation, awsSpan.kind(), trace.WithAttributes(about...))
			out, metadata, err = next.HandleInitialize(ctx, in)

			// A condition that does not hold is an answer, not a failure of the call.
			if _, refused := dynamo.FailedCondition(err); refused {
				span.SetAttributes(text(attrError, errorClass(err)))
				span.End()
			} else {
				end(span, errorClass(err))
			}

			return out, metadata, err
		})

	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(traced, middleware.After)
	})
}

// tableOf returns the table of a call about one item or query, "" for others.
func tableOf(request any) string {
	switch in := request.(type) {
	case *dynamodb.GetItemInput:
		return aws.ToString(in.TableName)
	case *dynamodb.PutItemInput:
		return aws.ToString(in.TableName)
	case *dynamodb.UpdateItemInput:
		return aws.ToString(in.TableName)
	case *dynamodb.DeleteItemInput:
		return aws.ToString(in.TableName)
	case *dynamodb.QueryInput:
		return aws.ToString(in.TableName)
	}

	return ""
}
