package streams

import (
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
			"ListStreams":      wire.Decoded(s.listStreams),
			"DescribeStream":   wire.Decoded(s.describeStream),
			"GetShardIterator": wire.Decoded(s.getShardIterator),
			"GetRecords":       wire.Decoded(s.getRecords),
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
			"RollShards": wire.Decoded(s.rollShards),
			"SplitShard": wire.Decoded(s.splitShard),
			"TrimStream": wire.Decoded(s.trimStream),
		},
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
