package sqs

import "ratchet/embedded/internal/wire"

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target:        "AmazonSQS",
		ErrorPrefix:   "com.amazonaws.sqs#",
		MessageKey:    "message",
		InternalError: "InternalError",
		QueryCode:     queryCode,
		Addressed:     []string{"CreateQueue", "GetQueueUrl", "ListQueues", "ListDeadLetterSourceQueues"},
		Operations: map[string]wire.Operation{
			"AddPermission":                wire.Decoded(s.addPermission),
			"RemovePermission":             wire.Decoded(s.removePermission),
			"TagQueue":                     wire.Decoded(s.tagQueue),
			"UntagQueue":                   wire.Decoded(s.untagQueue),
			"ListQueueTags":                wire.Decoded(s.listQueueTags),
			"ListDeadLetterSourceQueues":   wire.Decoded(s.listDeadLetterSources),
			"CreateQueue":                  wire.Decoded(s.createQueue),
			"GetQueueUrl":                  wire.Decoded(s.getQueueURL),
			"GetQueueAttributes":           wire.Decoded(s.getQueueAttributes),
			"SetQueueAttributes":           wire.Decoded(s.setQueueAttributes),
			"ListQueues":                   wire.Decoded(s.listQueues),
			"DeleteQueue":                  wire.Decoded(s.deleteQueue),
			"PurgeQueue":                   wire.Decoded(s.purgeQueue),
			"SendMessage":                  wire.Decoded(s.sendMessage),
			"SendMessageBatch":             wire.Decoded(s.sendMessageBatch),
			"ReceiveMessage":               wire.Decoded(s.receiveMessage),
			"DeleteMessage":                wire.Decoded(s.deleteMessage),
			"DeleteMessageBatch":           wire.Decoded(s.deleteMessageBatch),
			"ChangeMessageVisibility":      wire.Decoded(s.changeVisibility),
			"ChangeMessageVisibilityBatch": wire.Decoded(s.changeVisibilityBatch),
		},
	}
}
