// Package destination sends the messages of package notify. [Opener.Open] chooses by the
// beginning of an endpoint's destination:
//
//	https://HOST/PATH         a webhook, signed (http:// only where the reach allows it)
//	sqs:QUEUE-URL             a queue of SQS, also a FIFO queue
//	sns:TOPIC-ARN             a topic of SNS, also a FIFO topic
//	eventbridge:BUS           an event bus: its name or ARN
//	mailto:ADDRESS            an e-mail, through Opener.Mail
//	log                       a line in the worker's log
//	file:FILE, dir:DIR        one line, or one file each; only in the configuration
//	SCHEME:…                  a kind of the program's own, see Opener.Schemes
//
// Each of them may get the same message more than once, under the same id and key. Webhooks
// carry both, queues and topics have the key as an attribute (and as the deduplication id of a
// FIFO one), an e-mail has it in its Message-ID, and Dir stores each key once. File, Log and
// EventBridge repeat a repeat.
package destination
