// Tries queues, activities and executions of the engine at $ENDPOINT with the AWS SDK for JavaScript, version 3.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const require = createRequire(process.env.SDK + '/')
const { SQS, QueueDoesNotExist } = require('@aws-sdk/client-sqs')
const { SFN, ExecutionDoesNotExist, TaskTimedOut } = require('@aws-sdk/client-sfn')

const options = { endpoint: process.env.ENDPOINT, region: 'us-east-1' }
const queues = new SQS(options)

// A queue. The SDK compares the digests of bodies and attributes itself.
const { QueueUrl } = await queues.createQueue({ QueueName: 'javascript', Attributes: { VisibilityTimeout: '30' }, tags: { team: 'orders' } })
assert.equal(new URL(QueueUrl).origin, new URL(process.env.ENDPOINT).origin)
assert.equal((await queues.listQueueTags({ QueueUrl })).Tags.team, 'orders')

await queues.sendMessage({ QueueUrl, MessageBody: 'first', MessageAttributes: { n: { DataType: 'Number', StringValue: '1' }, b: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2]) } } })
const sent = await queues.sendMessageBatch({ QueueUrl, Entries: [{ Id: '1', MessageBody: 'second' }, { Id: '2', MessageBody: 'third' }] })
assert.equal(sent.Successful.length, 2)

const received = await queues.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'], MessageSystemAttributeNames: ['All'] })
assert.deepEqual(received.Messages.map((m) => m.Body).sort(), ['first', 'second', 'third'])
assert.deepEqual(received.Messages.find((m) => m.Body === 'first').MessageAttributes.b.BinaryValue, new Uint8Array([1, 2]))

const [{ ReceiptHandle }, ...rest] = received.Messages
await queues.changeMessageVisibility({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 })
await queues.deleteMessageBatch({ QueueUrl, Entries: rest.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle })) })
const again = await queues.receiveMessage({ QueueUrl, WaitTimeSeconds: 5, MessageSystemAttributeNames: ['ApproximateReceiveCount'] })
assert.equal(again.Messages[0].Attributes.ApproximateReceiveCount, '2')
await queues.deleteQueue({ QueueUrl })
await assert.rejects(queues.sendMessage({ QueueUrl, MessageBody: 'late' }), QueueDoesNotExist)

// An activity and an execution.
const steps = new SFN({ ...options, disableHostPrefix: true })
const { activityArn } = await steps.createActivity({ name: 'javascript', tags: [{ key: 'team', value: 'orders' }] })
const roleArn = 'arn:aws:iam::000000000000:role/any'
const { stateMachineArn } = await steps.createStateMachine({
  name: 'javascript', roleArn,
  definition: JSON.stringify({ StartAt: 'Work', States: { Work: { Type: 'Task', Resource: activityArn, HeartbeatSeconds: 60, End: true } } }),
})
const { executionArn } = await steps.startExecution({ stateMachineArn, name: 'first', input: '{"n":1}' })
const task = await steps.getActivityTask({ activityArn, workerName: 'javascript' })
assert.deepEqual(JSON.parse(task.input), { n: 1 })
await steps.sendTaskHeartbeat({ taskToken: task.taskToken })
await steps.sendTaskSuccess({ taskToken: task.taskToken, output: '{"done":true}' })

let execution
do {
  execution = await steps.describeExecution({ executionArn })
} while (execution.status === 'RUNNING')
assert.equal(execution.status, 'SUCCEEDED')
assert.deepEqual(JSON.parse(execution.output), { done: true })
assert(execution.startDate instanceof Date && execution.startDate <= execution.stopDate)

const { events } = await steps.getExecutionHistory({ executionArn, reverseOrder: true, maxResults: 1 })
assert.equal(events[0].type, 'ExecutionSucceeded')
await assert.rejects(steps.sendTaskSuccess({ taskToken: task.taskToken, output: '{}' }), TaskTimedOut)
await assert.rejects(steps.describeExecution({ executionArn: executionArn + 'x' }), ExecutionDoesNotExist)

const express = await steps.createStateMachine({
  name: 'javascript-express', type: 'EXPRESS', roleArn,
  definition: JSON.stringify({ StartAt: 'A', States: { A: { Type: 'Pass', Result: 7, End: true } } }),
})
assert.equal((await steps.startSyncExecution({ stateMachineArn: express.stateMachineArn })).output, '7')
const tested = await steps.testState({ definition: '{"Type":"Pass","Parameters":{"n.$":"$.n"},"End":true}', input: '{"n":2}', roleArn })
assert.equal(tested.output, '{"n":2}')
