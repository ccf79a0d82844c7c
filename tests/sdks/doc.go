// Package sdks tries Ratchet from other languages. `ratchet dev` is a DynamoDB for any SDK: the AWS CLI,
// boto3 and the AWS SDK for JavaScript each create a table with an index, query, page, transact, use
// PartiQL and read typed errors. The receivers of examples/webhooks verify its webhooks with libraries of
// their languages, and the programs of examples/clients call its API with generated clients.
//
//	make sdks
//
// installs what they need below .cache/sdks from PyPI, npm and Maven Central (setup.sh) and runs the tests.
// Python 3, Node, Java, Maven and a network are needed: without them the suite fails, it never skips.
package sdks
