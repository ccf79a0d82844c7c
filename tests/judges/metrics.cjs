// The client and the table that the tests of OneTable's metrics share. Their own setup starts an emulator.
const { CreateTableCommand, DynamoDBClient } = require('@aws-sdk/client-dynamodb');

globalThis.DynamoDBClient = new DynamoDBClient({});
globalThis.TableName = 'metrics-' + Math.random().toString(36).slice(2);

beforeAll(() => globalThis.DynamoDBClient.send(new CreateTableCommand({
  TableName: globalThis.TableName, BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
})));
