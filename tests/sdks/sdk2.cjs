// Tries the engine at $ENDPOINT with the AWS SDK for JavaScript, version 2.
'use strict'
process.env.AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE = '1'

const assert = require('node:assert/strict')
const AWS = require(process.env.SDK + '/node_modules/aws-sdk')

const options = { endpoint: process.env.ENDPOINT, region: 'us-east-1' }
const TableName = 'javascript2'

// code expects a call to fail with a code.
const code = (request, want) => assert.rejects(request.promise(), (e) => {
  assert.equal(e.code, want)
  return true
})

async function table() {
  const client = new AWS.DynamoDB(options)
  await client.createTable({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'h', KeyType: 'HASH' }, { AttributeName: 'r', KeyType: 'RANGE' }],
    AttributeDefinitions: [{ AttributeName: 'h', AttributeType: 'S' }, { AttributeName: 'r', AttributeType: 'N' }, { AttributeName: 'state', AttributeType: 'S' }],
    GlobalSecondaryIndexes: [{ IndexName: 'by-state', Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'state', KeyType: 'HASH' }, { AttributeName: 'r', KeyType: 'RANGE' }] }],
  }).promise()
  await client.waitFor('tableExists', { TableName }).promise()

  const items = new AWS.DynamoDB.DocumentClient({ service: client })
  for (let r = 0; r < 10; r++) {
    await items.put({ TableName, Item: { h: 'p', r, state: 's' + r % 2, tags: items.createSet(['a', 'b']), blob: Buffer.from([r]) } }).promise()
  }

  const found = await items.query({ TableName, IndexName: 'by-state', KeyConditionExpression: '#s = :s AND r > :r',
    ExpressionAttributeNames: { '#s': 'state' }, ExpressionAttributeValues: { ':s': 's1', ':r': 3 } }).promise()
  assert.deepEqual(found.Items.map((i) => i.r), [5, 7, 9])
  assert.deepEqual(found.Items[0].tags.values, ['a', 'b'])
  assert.deepEqual([...found.Items[0].blob], [5])

  await code(items.put({ TableName, Item: { h: 'p', r: 1 }, ConditionExpression: 'attribute_not_exists(h)' }), 'ConditionalCheckFailedException')

  const once = { ClientRequestToken: TableName, TransactItems: [{ Update: { TableName, Key: { h: 'p', r: 0 }, UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': 1 } } }] }
  await items.transactWrite(once).promise()
  await items.transactWrite(once).promise()
  const both = await items.transactGet({ TransactItems: [{ Get: { TableName, Key: { h: 'p', r: 0 } } }, { Get: { TableName, Key: { h: 'p', r: 99 } } }] }).promise()
  assert.equal(both.Responses[0].Item.n, 1)
  await code(items.transactWrite({ TransactItems: [{ ConditionCheck: { TableName, Key: { h: 'p', r: 99 }, ConditionExpression: 'attribute_exists(h)' } }] }), 'TransactionCanceledException')
  await client.deleteTable({ TableName }).promise()
}

async function queue() {
  const client = new AWS.SQS(options)
  const { QueueUrl } = await client.createQueue({ QueueName: 'javascript2', tags: { team: 'orders' } }).promise()
  assert.equal(new URL(QueueUrl).origin, new URL(process.env.ENDPOINT).origin)

  await client.sendMessage({ QueueUrl, MessageBody: 'first', MessageAttributes: { n: { DataType: 'Number', StringValue: '1' } } }).promise()
  const { Messages } = await client.receiveMessage({ QueueUrl, MessageAttributeNames: ['All'], WaitTimeSeconds: 5 }).promise()
  assert.equal(Messages[0].Body, 'first')
  assert.equal(Messages[0].MessageAttributes.n.StringValue, '1')
  await client.deleteMessage({ QueueUrl, ReceiptHandle: Messages[0].ReceiptHandle }).promise()
  await client.deleteQueue({ QueueUrl }).promise()
  await code(client.getQueueUrl({ QueueName: 'javascript2' }), 'AWS.SimpleQueueService.NonExistentQueue')
}

async function execution() {
  const steps = new AWS.StepFunctions({ ...options, hostPrefixEnabled: false })
  const roleArn = 'arn:aws:iam::000000000000:role/any'
  const { activityArn } = await steps.createActivity({ name: 'javascript2' }).promise()
  const { stateMachineArn } = await steps.createStateMachine({ name: 'javascript2', roleArn,
    definition: JSON.stringify({ StartAt: 'Work', States: { Work: { Type: 'Task', Resource: activityArn, End: true } } }) }).promise()
  const { executionArn } = await steps.startExecution({ stateMachineArn, input: '{"n":1}' }).promise()

  const task = await steps.getActivityTask({ activityArn }).promise()
  assert.equal(task.input, '{"n":1}')
  await steps.sendTaskFailure({ taskToken: task.taskToken, error: 'Refused', cause: 'no stock' }).promise()

  let found
  do {
    found = await steps.describeExecution({ executionArn }).promise()
  } while (found.status === 'RUNNING')
  assert.deepEqual([found.status, found.error, found.cause], ['FAILED', 'Refused', 'no stock'])
  await code(steps.describeExecution({ executionArn: executionArn + 'x' }), 'ExecutionDoesNotExist')

  const express = await steps.createStateMachine({ name: 'javascript2-express', type: 'EXPRESS', roleArn,
    definition: JSON.stringify({ StartAt: 'A', States: { A: { Type: 'Pass', Result: 7, End: true } } }) }).promise()
  assert.equal((await steps.startSyncExecution({ stateMachineArn: express.stateMachineArn }).promise()).output, '7')
}

Promise.all([table(), queue(), execution()]).catch((e) => {
  console.error(e)
  process.exit(1)
})
