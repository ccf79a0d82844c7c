package ratchet;

import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.adapter.DynamoDBStreamsClientRecord;
import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import java.net.URI;
import java.util.concurrent.atomic.AtomicLong;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.DescribeStreamRequest;
import software.amazon.awssdk.services.dynamodb.model.GetShardIteratorRequest;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.exceptions.InvalidStateException;
import software.amazon.kinesis.exceptions.ShutdownException;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;

/**
 * A worker of the Kinesis Client Library that reads a DynamoDB stream through Amazon's adapter,
 * to be measured beside {@code cmd/bench/peers/poller}, which takes the same arguments and prints the
 * same lines: {"event":"lease"} when it gets a shard, {"event":"first"} at its first record, and
 * {"event":"last"} when it has handled as many records as asked for. Each line has the time since
 * the first record in seconds. It runs until it is killed, and sends no metrics.
 *
 * <p>Arguments: endpoint, ARN of the stream, name of the application (also of the lease table),
 * name of the worker, failover time in ms, records, and (not for the poller) the pause between reads
 * in ms.
 */
public final class KclWorker {
    /** Progress is stored as often as Ratchet's poller stores it. */
    private static final long CHECKPOINT_NANOS = 1_000_000_000L;

    /** The region in the ARNs of DynamoDB Local, which this version of the adapter refuses. */
    private static final String LOCAL_REGION = ":ddblocal:";

    private static final AtomicLong handled = new AtomicLong();
    private static volatile long first;

    private KclWorker() {}

    public static void main(String[] args) {
        URI endpoint = URI.create(args[0]);
        String stream = args[1].replace(LOCAL_REGION, ":us-east-1:");
        String application = args[2];
        String worker = args[3];
        long failover = Long.parseLong(args[4]);
        long records = Long.parseLong(args[5]);
        long pause = Long.parseLong(args[6]);

        var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("bench", "bench"));
        var region = Region.US_EAST_1;
        var streams = DynamoDbStreamsClient.builder()
                .endpointOverride(endpoint)
                .region(region)
                .credentialsProvider(credentials)
                .overrideConfiguration(c -> c.addExecutionInterceptor(new ArnOnTheWire(args[1])))
                .build();
        var dynamo = DynamoDbAsyncClient.builder()
                .endpointOverride(endpoint)
                .region(region)
                .credentialsProvider(credentials)
                .build();
        // The builder asks for it; without a metrics factory that uses it, it is never called.
        var cloudWatch = CloudWatchAsyncClient.builder()
                .endpointOverride(endpoint)
                .region(region)
                .credentialsProvider(credentials)
                .build();

        var adapter = new AmazonDynamoDBStreamsAdapterClient(streams, region);
        var tracker = StreamsSchedulerFactory.createSingleStreamTracker(
                stream, InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON));
        var configs = new ConfigsBuilder(
                tracker, application, adapter, dynamo, cloudWatch, worker, () -> new Processor(records));

        var polling = new DynamoDBStreamsPollingConfig(stream, adapter);
        polling.idleTimeBetweenReadsInMillis(pause);

        var leases = configs.leaseManagementConfig().failoverTimeMillis(failover);
        // Without this, it looks for the metrics of a container or an EC2 instance.
        leases.workerUtilizationAwareAssignmentConfig().disableWorkerMetrics(true);

        StreamsSchedulerFactory.createScheduler(
                        configs.checkpointConfig(),
                        configs.coordinatorConfig().skipShardSyncAtWorkerInitializationIfLeasesExist(true),
                        leases,
                        configs.lifecycleConfig(),
                        configs.metricsConfig().metricsFactory(new NullMetricsFactory()),
                        configs.processorConfig(),
                        configs.retrievalConfig().retrievalSpecificConfig(polling),
                        adapter)
                .run();
    }

    private static synchronized void report(String event) {
        double seconds = first == 0 ? 0 : (System.nanoTime() - first) / 1e9;
        System.out.println("{\"event\":\"" + event + "\",\"seconds\":" + seconds + "}");
        System.out.flush();
    }

    /** Puts the stream's own ARN back into the requests. */
    private record ArnOnTheWire(String arn) implements ExecutionInterceptor {
        @Override
        public SdkRequest modifyRequest(Context.ModifyRequest context, ExecutionAttributes attributes) {
            SdkRequest request = context.request();
            if (request instanceof DescribeStreamRequest describe) {
                return describe.toBuilder().streamArn(arn).build();
            }
            if (request instanceof GetShardIteratorRequest iterator) {
                return iterator.toBuilder().streamArn(arn).build();
            }

            return request;
        }
    }

    /** Counts the records of one shard. */
    private static final class Processor implements DynamoDBStreamsShardRecordProcessor {
        private final long records;
        private long checkpointed = System.nanoTime();

        Processor(long records) {
            this.records = records;
        }

        @Override
        public void initialize(InitializationInput input) {
            report("lease");
        }

        @Override
        public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
            for (DynamoDBStreamsClientRecord ignored : input.records()) {
                long n = handled.incrementAndGet();
                if (n == 1) {
                    first = System.nanoTime();
                    report("first");
                }
                if (n == records) {
                    report("last");
                }
            }

            if (System.nanoTime() - checkpointed >= CHECKPOINT_NANOS) {
                checkpoint(input.checkpointer());
                checkpointed = System.nanoTime();
            }
        }

        @Override
        public void leaseLost(LeaseLostInput input) {}

        @Override
        public void shardEnded(ShardEndedInput input) {
            checkpoint(input.checkpointer());
        }

        @Override
        public void shutdownRequested(ShutdownRequestedInput input) {
            checkpoint(input.checkpointer());
        }

        private static void checkpoint(RecordProcessorCheckpointer checkpointer) {
            try {
                checkpointer.checkpoint();
            } catch (InvalidStateException | ShutdownException e) {
                System.err.println("checkpoint: " + e);
            }
        }
    }
}
