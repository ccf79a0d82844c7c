// Package wire speaks AWS JSON 1.0, the protocol that the engine's services share.
//
// A call is one POST. The header X-Amz-Target names the service and the operation
// ("DynamoDB_20120810.PutItem"), the body is the request as JSON, and the answer is
// JSON too. An error is a JSON object with "__type" and a message.
// Source: https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html
//
// A service is a table of operations:
//
//	service := wire.Service{
//		Target: "Echo_1",
//		Operations: map[string]wire.Operation{"Echo": wire.Decoded(echo)},
//	}
//	handler := wire.NewHandler(slog.Default(), service)
//
// An [Operation] that refuses a call returns an [Error], built by [Errorf], [Invalid],
// [Missing] and the checks of validate.go. Any other error is a fault of the engine: the
// caller gets an InternalServerError that names the request, the log gets the cause.
//
// [InProcess] and [Direct] connect an SDK client to a handler without a socket.
package wire
