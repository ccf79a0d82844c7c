// Tries the engine at $ENDPOINT with the AWS SDK for Java, version 2.

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.client.config.SdkAdvancedClientOption;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItem;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.sfn.SfnClient;
import software.amazon.awssdk.services.sfn.model.ExecutionDoesNotExistException;
import software.amazon.awssdk.services.sfn.model.ExecutionStatus;
import software.amazon.awssdk.services.sfn.model.HistoryEventType;
import software.amazon.awssdk.services.sfn.model.StateMachineType;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.MessageAttributeValue;
import software.amazon.awssdk.services.sqs.model.QueueDoesNotExistException;

public class Engine {
    static final URI ENDPOINT = URI.create(System.getenv("ENDPOINT"));
    static final String TABLE = "java";

    public static void main(String[] args) {
        try (var items = of(DynamoDbClient.builder())) {
            table(items);
        }
        try (var queues = of(SqsClient.builder())) {
            queue(queues);
        }
        try (var steps = of(SfnClient.builder())) {
            execution(steps);
        }
    }

    static <B extends AwsClientBuilder<B, C>, C> C of(B builder) {
        return builder.endpointOverride(ENDPOINT).region(Region.US_EAST_1)
                .overrideConfiguration(o -> o.putAdvancedOption(SdkAdvancedClientOption.DISABLE_HOST_PREFIX_INJECTION, true)).build();
    }

    static void table(DynamoDbClient client) {
        client.createTable(t -> t.tableName(TABLE).billingMode(BillingMode.PAY_PER_REQUEST)
                .keySchema(key("h", KeyType.HASH), key("r", KeyType.RANGE))
                .attributeDefinitions(attribute("h", ScalarAttributeType.S), attribute("r", ScalarAttributeType.N), attribute("state", ScalarAttributeType.S))
                .globalSecondaryIndexes(i -> i.indexName("by-state").projection(p -> p.projectionType(ProjectionType.ALL))
                        .keySchema(key("state", KeyType.HASH), key("r", KeyType.RANGE))));
        client.waiter().waitUntilTableExists(t -> t.tableName(TABLE));

        for (int r = 0; r < 10; r++) {
            int row = r;
            client.putItem(p -> p.tableName(TABLE).item(Map.of("h", text("p"), "r", number(row), "state", text("s" + row % 2),
                    "blob", AttributeValue.fromB(SdkBytes.fromByteArray(new byte[] {(byte) row})))));
        }

        // The SDK follows LastEvaluatedKey, two items a page.
        var pages = client.queryPaginator(q -> q.tableName(TABLE).indexName("by-state").limit(2).keyConditionExpression("#s = :s AND r > :r")
                .expressionAttributeNames(Map.of("#s", "state")).expressionAttributeValues(Map.of(":s", text("s1"), ":r", number(2))));
        same(pages.items().stream().map(i -> i.get("r").n()).toList(), List.of("3", "5", "7", "9"));

        // More than a kilobyte comes compressed, with the checksum of the compressed bytes.
        var large = text("x".repeat(50_000));
        client.putItem(p -> p.tableName(TABLE).item(Map.of("h", text("large"), "r", number(1), "v", large)));
        same(client.getItem(g -> g.tableName(TABLE).key(Map.of("h", text("large"), "r", number(1)))).item().get("v"), large);

        fails(ConditionalCheckFailedException.class, () -> client.putItem(p -> p.tableName(TABLE).item(Map.of("h", text("p"), "r", number(1)))
                .conditionExpression("attribute_not_exists(h)")));

        var first = Map.of("h", text("p"), "r", number(0));
        var add = TransactWriteItem.builder().update(u -> u.tableName(TABLE).key(first).updateExpression("ADD n :n")
                .expressionAttributeValues(Map.of(":n", number(1)))).build();
        IntStream.range(0, 2).forEach(i -> client.transactWriteItems(t -> t.clientRequestToken(TABLE).transactItems(add)));
        var read = client.transactGetItems(t -> t.transactItems(i -> i.get(g -> g.tableName(TABLE).key(first)))).responses();
        same(read.get(0).item().get("n").n(), "1");

        var check = TransactWriteItem.builder().conditionCheck(c -> c.tableName(TABLE).key(Map.of("h", text("p"), "r", number(99)))
                .conditionExpression("attribute_exists(h)")).build();
        fails(TransactionCanceledException.class, () -> client.transactWriteItems(t -> t.transactItems(check)));
        client.deleteTable(t -> t.tableName(TABLE));
    }

    static void queue(SqsClient client) {
        var url = client.createQueue(q -> q.queueName("java").tags(Map.of("team", "orders"))).queueUrl();
        same(URI.create(url).getAuthority(), ENDPOINT.getAuthority());

        client.sendMessage(m -> m.queueUrl(url).messageBody("first")
                .messageAttributes(Map.of("n", MessageAttributeValue.builder().dataType("Number").stringValue("1").build())));
        var messages = client.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(5).messageAttributeNames("All")).messages();
        same(messages.get(0).body(), "first");
        same(messages.get(0).messageAttributes().get("n").stringValue(), "1");

        client.deleteMessage(d -> d.queueUrl(url).receiptHandle(messages.get(0).receiptHandle()));
        client.deleteQueue(q -> q.queueUrl(url));
        fails(QueueDoesNotExistException.class, () -> client.getQueueUrl(q -> q.queueName("java")));
    }

    static void execution(SfnClient client) {
        var role = "arn:aws:iam::000000000000:role/any";
        var activity = client.createActivity(a -> a.name("java")).activityArn();
        var machine = client.createStateMachine(m -> m.name("java").roleArn(role)
                .definition("{\"StartAt\":\"Work\",\"States\":{\"Work\":{\"Type\":\"Task\",\"Resource\":\"" + activity + "\",\"End\":true}}}")).stateMachineArn();
        var execution = client.startExecution(e -> e.stateMachineArn(machine).input("{\"n\":1}")).executionArn();

        var task = client.getActivityTask(t -> t.activityArn(activity));
        same(task.input(), "{\"n\":1}");
        client.sendTaskHeartbeat(t -> t.taskToken(task.taskToken()));
        client.sendTaskSuccess(t -> t.taskToken(task.taskToken()).output("{\"done\":true}"));

        var found = client.describeExecution(e -> e.executionArn(execution));
        while (found.status() == ExecutionStatus.RUNNING) {
            found = client.describeExecution(e -> e.executionArn(execution));
        }
        same(found.status(), ExecutionStatus.SUCCEEDED);
        same(found.output(), "{\"done\":true}");
        var events = client.getExecutionHistoryPaginator(h -> h.executionArn(execution).maxResults(2)).events().stream().toList();
        same(events.get(events.size() - 1).type(), HistoryEventType.EXECUTION_SUCCEEDED);
        fails(ExecutionDoesNotExistException.class, () -> client.describeExecution(e -> e.executionArn(execution + "x")));

        var express = client.createStateMachine(m -> m.name("java-express").type(StateMachineType.EXPRESS).roleArn(role)
                .definition("{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Pass\",\"Result\":7,\"End\":true}}}")).stateMachineArn();
        same(client.startSyncExecution(e -> e.stateMachineArn(express)).output(), "7");
    }

    static KeySchemaElement key(String name, KeyType type) {
        return KeySchemaElement.builder().attributeName(name).keyType(type).build();
    }

    static AttributeDefinition attribute(String name, ScalarAttributeType type) {
        return AttributeDefinition.builder().attributeName(name).attributeType(type).build();
    }

    static AttributeValue text(String value) {
        return AttributeValue.fromS(value);
    }

    static AttributeValue number(int value) {
        return AttributeValue.fromN(String.valueOf(value));
    }

    static void same(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }

    static void fails(Class<? extends Exception> want, Runnable call) {
        try {
            call.run();
        } catch (Exception e) {
            if (want.isInstance(e)) {
                return;
            }
            throw e;
        }
        throw new AssertionError("no " + want.getSimpleName());
    }
}
