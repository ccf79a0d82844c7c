// Package sdks shows that `ratchet dev` is a DynamoDB for any SDK: the AWS CLI, boto3 and the
// AWS SDK for JavaScript each create a table with an index, query, page, transact, use PartiQL
// and read typed errors.
//
//	make sdks
//
// installs them below .cache/sdks from PyPI and npm (setup.sh) and runs the tests. Python 3,
// Node and a network are needed: without them the suite fails, it never skips.
package sdks
