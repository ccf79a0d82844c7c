// Package notify tells the outside that an order has entered a state. A [Sink] takes
// notifications: [Webhook] delivers them to a URL, signed; [Dir], [File] and [Log] write
// them to disk or to a logger.
package notify
