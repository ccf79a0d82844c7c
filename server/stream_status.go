package server

import "ratchet/streams"

// StreamInspector looks at how far the workers have handled the orders' stream.
func (b *Backend) StreamInspector() streams.Inspector {
	return streams.Inspector{
		Streams:         b.Streams,
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		LeaseTable:      b.Tables.Leases,
		DeadLetterTable: b.Tables.DeadLetters,
		Handlers:        b.HandlerNames(),
	}
}

// DeadLetters returns the dead letters of the orders' stream.
func (b *Backend) DeadLetters() streams.DeadLetters {
	return streams.DeadLetters{DynamoDB: b.DynamoDB, Table: b.Tables.DeadLetters}
}

// HandlerNames returns the names of the handlers of the orders' stream.
func (b *Backend) HandlerNames() []string {
	handlers := b.Handlers()
	names := make([]string, len(handlers))

	for i, h := range handlers {
		names[i] = h.Name
	}

	return names
}

// RetryQueue puts records into the retry queues of the stream's handlers.
func (b *Backend) RetryQueue() streams.RetryQueue {
	return streams.RetryQueue{
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		DeadLetterTable: b.Tables.DeadLetters,
		LeaseTable:      b.Tables.Leases,
	}
}
