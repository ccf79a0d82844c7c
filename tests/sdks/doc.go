// Package sdks tries Ratchet from other languages. `ratchet dev` is a DynamoDB, an SQS and a Step Functions for any SDK:
// the AWS CLI and boto3 create a table with an index, query, page, transact, use PartiQL and read typed errors. The AWS
// SDKs for JavaScript (versions 2 and 3) and Java (version 2) do that too, use a queue, work for an activity and run
// executions, also those whose host SDKs give a prefix. The receivers of examples/webhooks verify its webhooks with
// libraries of their languages, and the programs of examples/clients call its API with generated clients.
//
//	make sdks
//
// installs what they need below .cache/sdks from PyPI, npm and Maven Central (setup.sh) and runs the tests.
// Python 3, Node, Java, Maven and a network are needed: without them the suite fails, it never skips.
package sdks
