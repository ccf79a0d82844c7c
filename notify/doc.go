// Package notify notifies the outside that an order has entered a state. A [Sink] takes
// notifications. [Webhook] delivers them to a URL, signed; [Dir], [File] and [Log] write
// them to files or to a logger, for demonstrations and tests.
//
// A sink may get the same notification more than once, under the same key. Webhook passes
// the key on, so that the receiver can drop repeats, and Dir stores each key once. File and
// Log write a repeat again.
package notify
