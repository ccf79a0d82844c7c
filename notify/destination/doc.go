// Package destination sends the messages of package notify. [Opener.Open] chooses by the
// beginning of an endpoint's destination:
//
//	https://HOST/PATH         a webhook, signed (http:// only where the reach allows it)
//	sqs:QUEUE-URL             a queue of SQS, also a FIFO queue
//	sns:TOPIC-ARN             a topic of SNS, also a FIFO topic
//	eventbridge:BUS           an event bus: its name or ARN
//	mailto:ADDRESS            an e-mail, through Opener.Mail
//	log                       a line in the worker's log
//	file:FILE                 one line in a file; only for endpoints of the configuration
//	dir:DIR                   a file of its own; only for endpoints of the configuration
//	SCHEME:…                  the program's own kinds, see Opener.Schemes
//
// Each destination may get a message more than once, with the same id and key. Webhooks, queues
// and topics get both; the id is also the deduplication id of a FIFO queue or topic. An e-mail has
// the id in its Message-ID. Dir stores each key once. A file, a log and EventBridge do not drop a
// repeat: they get the key, and EventBridge also the id in format cloudevents.
package destination
