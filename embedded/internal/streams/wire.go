package streams

import "ratchet/embedded/internal/wire"

// Wire returns the operations of DynamoDB Streams for wire.NewHandler.
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
