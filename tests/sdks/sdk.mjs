// Tries the engine at $ENDPOINT with the AWS SDK for JavaScript.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const {
  DynamoDB, paginateQuery, waitUntilTableExists, ConditionalCheckFailedException, TransactionCanceledException, DuplicateItemException,
} = createRequire(process.env.SDK + '/')('@aws-sdk/client-dynamodb')
const client = new DynamoDB({ endpoint: process.env.ENDPOINT, region: 'us-east-1' })
const TableName = 'javascript'
const key = (r) => ({ h: { S: 'p' }, r: { N: String(r) } })

await client.createTable({
  TableName, BillingMode: 'PAY_PER_REQUEST',
  KeySchema: [{ AttributeName: 'h', KeyType: 'HASH' }, { AttributeName: 'r', KeyType: 'RANGE' }],
  AttributeDefinitions: [{ AttributeName: 'h', AttributeType: 'S' }, { AttributeName: 'r', AttributeType: 'N' }, { AttributeName: 'amount', AttributeType: 'N' }],
  LocalSecondaryIndexes: [{ IndexName: 'by-amount', Projection: { ProjectionType: 'KEYS_ONLY' },
    KeySchema: [{ AttributeName: 'h', KeyType: 'HASH' }, { AttributeName: 'amount', KeyType: 'RANGE' }] }],
})
await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName })

for (let r = 0; r < 12; r++) {
  await client.putItem({ TableName, Item: { ...key(r), amount: { N: String(100 - r) }, blob: { B: new Uint8Array([r]) } } })
}

const read = []
for await (const page of paginateQuery({ client, pageSize: 5 }, { TableName, IndexName: 'by-amount', ConsistentRead: true,
  KeyConditionExpression: 'h = :h AND amount > :t', ExpressionAttributeValues: { ':h': { S: 'p' }, ':t': { N: '90' } } })) {
  read.push(...page.Items.map((i) => i.r.N))
}
assert.deepEqual(read, ['9', '8', '7', '6', '5', '4', '3', '2', '1', '0'])

const segments = await Promise.all([0, 1, 2].map((Segment) => client.scan({ TableName, Segment, TotalSegments: 3 })))
assert.equal(segments.reduce((sum, s) => sum + s.Count, 0), 12)

await assert.rejects(client.updateItem({ TableName, Key: key(0), UpdateExpression: 'SET a = :a', ConditionExpression: 'amount < :a',
  ExpressionAttributeValues: { ':a': { N: '1' } }, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }), (e) => {
  assert(e instanceof ConditionalCheckFailedException)
  assert.equal(e.Item.amount.N, '100')
  return true
})

const token = { ClientRequestToken: 'once', TransactItems: [{ Update: { TableName, Key: key(0), UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': { N: '1' } } } }] }
await client.transactWriteItems(token)
await client.transactWriteItems(token)
const both = await client.transactGetItems({ TransactItems: [{ Get: { TableName, Key: key(0) } }, { Get: { TableName, Key: key(99) } }] })
assert.equal(both.Responses[0].Item.n.N, '1')
assert.equal(both.Responses[1].Item, undefined)
assert.deepEqual(both.Responses[0].Item.blob.B, new Uint8Array([0]))

await assert.rejects(client.executeTransaction({ TransactStatements: [{ Statement: "DELETE FROM javascript WHERE h = 'p' AND r = 1 AND amount = 0" }] }), TransactionCanceledException)
await assert.rejects(client.executeStatement({ Statement: "INSERT INTO javascript VALUE {'h':'p','r':0}" }), DuplicateItemException)
const rows = await client.executeStatement({ Statement: 'SELECT r FROM javascript."by-amount" WHERE h = ? AND amount BETWEEN 95 AND 97', Parameters: [{ S: 'p' }] })
assert.deepEqual(rows.Items.map((i) => i.r.N), ['5', '4', '3'])
await client.deleteTable({ TableName })
