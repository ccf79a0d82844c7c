package server

import (
	"context"
	"slices"

	"ratchet/streams/deadletters"
	"ratchet/streams/reactions"
	"ratchet/streams/retryqueue"
	"ratchet/streams/status"
)

// StreamInspector returns an inspector that shows how far the workers have handled the orders' stream.
func (b *Backend) StreamInspector() status.Inspector {
	return status.Inspector{Streams: b.Streams, Queue: b.RetryQueue(), Handlers: b.HandlerNames()}
}

// DeadLetters returns the dead letters of the orders' stream.
func (b *Backend) DeadLetters() deadletters.Letters {
	return deadletters.Letters{DynamoDB: b.DynamoDB, Table: b.Tables.DeadLetters}
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

// optional are the handlers that a setting turns on.
var optional = []struct{ handler, setting string }{
	{reactions.RefundHandler, "refund-returns"},
	{listsHandler, "order-lists"},
}

// OffHandlers returns the handlers that the settings turn off, each with the setting that turns it on.
func (b *Backend) OffHandlers() map[string]string {
	on, off := b.HandlerNames(), map[string]string{}
	for _, o := range optional {
		if !slices.Contains(on, o.handler) {
			off[o.handler] = o.setting
		}
	}

	return off
}

// EveryHandlerName returns the names of all handlers. It includes the handlers that the settings turn
// off, because they may have dead letters from earlier settings or from workers with other settings.
func (b *Backend) EveryHandlerName() []string {
	names, off := b.HandlerNames(), b.OffHandlers()
	for _, o := range optional {
		if off[o.handler] != "" {
			names = append(names, o.handler)
		}
	}

	return names
}

// wholeStreamStatus returns the status of the stream. It includes a handler that the settings turn off
// if the handler has records in its retry queue or dead letters.
func (b *Backend) wholeStreamStatus(ctx context.Context) (status.Status, error) {
	inspector, off := b.StreamInspector(), b.OffHandlers()
	inspector.Handlers = b.EveryHandlerName()

	// All handlers are read first, because only a read shows whether one has such records.
	found, err := inspector.Status(ctx)
	found.Handlers = slices.DeleteFunc(found.Handlers, func(h status.HandlerStatus) bool {
		return off[h.Name] != "" && h.Items+h.DeadLetters == 0
	})

	return found, err
}

// RetryQueue puts records into the retry queues of the stream's handlers.
func (b *Backend) RetryQueue() retryqueue.Queue {
	return retryqueue.Queue{
		DynamoDB:        b.DynamoDB,
		TableName:       b.Tables.Orders,
		DeadLetterTable: b.Tables.DeadLetters,
		LeaseTable:      b.Tables.Leases,
	}
}
