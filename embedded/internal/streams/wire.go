package streams

import (
	"context"

	"ratchet/embedded/internal/wire"
)

// Wire names the operations of DynamoDB Streams for an endpoint.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target:        "DynamoDBStreams_20120810",
		ErrorPrefix:   "com.amazonaws.dynamodb.v20120810#",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{
			"ListStreams":      operation(s.listStreams),
			"DescribeStream":   operation(s.describeStream),
			"GetShardIterator": operation(s.getShardIterator),
			"GetRecords":       operation(s.getRecords),
		},
	}
}

// AdminWire names the commands that change the life of shards, which no AWS
// service has.
func (s *Service) AdminWire() wire.Service {
	return wire.Service{
		Target:        "RatchetEngine_20261121",
		ErrorPrefix:   "ratchet.engine#",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{
			"RollShards": operation(s.rollShards),
			"SplitShard": operation(s.splitShard),
			"TrimStream": operation(s.trimStream),
		},
	}
}

func operation[In any](call func(ctx context.Context, in *In) (any, error)) wire.Operation {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := wire.Decode(body, in); err != nil {
			return nil, err
		}

		return call(ctx, in)
	}
}

// named finds the stream of a required StreamArn.
func (s *Service) named(arn *string) (*Stream, error) {
	if arn == nil {
		return nil, wire.Missing("streamArn")
	}

	if st := s.Lookup(*arn); st != nil {
		return st, nil
	}

	return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found: Stream: %s not found", *arn)
}

func shardMissing(id string) *wire.Error {
	return wire.Errorf("ResourceNotFoundException", "Requested resource not found: Shard: %s does not exist", id)
}

// find returns the shard of an ID. Under mu.
func (s *Stream) find(id string) *shard {
	for _, sh := range s.all {
		if sh.record.ID == id {
			return sh
		}
	}

	return nil
}
