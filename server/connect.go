package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"

	"ratchet/embedded"
)

// Connect opens the backend that cfg names: the endpoint if one is set, AWS if the SDK's
// default chain has a region, else the embedded engine over cfg.Data. A nil log is
// slog.Default(). Call Close after use.
func Connect(ctx context.Context, cfg Config, log *slog.Logger, events Events) (*Backend, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	if cfg.EndpointURL == "" && ConfiguredRegion(ctx) == "" {
		return Embed(cfg, log, events)
	}

	awsConfig, err := remoteConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}

	seen, err := observe(cfg, orDefault(log))
	if err != nil {
		return nil, err
	}
	// The SDK warns about connections that end early. A reader of the log cannot act on these warnings.
	awsConfig.Logger = logging.LoggerFunc(func(_ logging.Classification, format string, args ...any) {
		seen.log.Debug("aws sdk", "message", fmt.Sprintf(format, args...))
	})

	b, err := assemble(cfg, awsConfig, nil, seen, events)
	if err != nil {
		return nil, errors.Join(err, seen.close())
	}

	return b, nil
}

// Embed opens the embedded engine over cfg.Data, even if an endpoint or AWS is configured. It creates
// the directory if it is missing, and fails if another process has it open. A nil log is
// slog.Default(). Call Close after use.
func Embed(cfg Config, log *slog.Logger, events Events) (*Backend, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}

	seen, err := observe(cfg, orDefault(log))
	if err != nil {
		return nil, err
	}

	engine, err := openEngine(cfg, seen.log, events)
	if err != nil {
		return nil, errors.Join(err, seen.close())
	}

	b, err := assemble(cfg, engine.AWSConfig(), engine, seen, events)
	if err != nil {
		return nil, errors.Join(err, engine.Close(), seen.close())
	}

	return b, nil
}

// openEngine opens only the embedded engine over cfg.Data, without clients and parts. The directory must
// exist. A nil log is slog.Default(). Call Close after use.
func openEngine(cfg Config, log *slog.Logger, events Events) (*embedded.Engine, error) {
	return embedded.Open(embedded.Config{
		Dir:         cfg.WithDefaults().Data,
		BackupFiles: []string{actionKeysFile, auditFile},
		FaultAdmin:  cfg.FaultAdmin,

		AllowedHosts: cfg.Network.AllowedHosts,

		Consumed: events.Billed,
		Failed:   events.Failed,
		Log:      orDefault(log),
	})
}

func orDefault(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.Default()
	}

	return log
}

// ConfiguredRegion returns the region of the SDK's default chain (environment, shared config files),
// "" if it has none.
func ConfiguredRegion(ctx context.Context) string {
	environment, err := config.NewEnvConfig()
	if err != nil {
		return ""
	}

	// Not LoadDefaultConfig, which also parses the certificates of AWS_CA_BUNDLE: a command asks for the region each time.
	shared, err := sharedConfig(ctx, environment)
	if err != nil {
		return ""
	}

	return cmp.Or(environment.Region, shared.Region)
}

// sharedConfig reads the profile of the shared config files as LoadDefaultConfig does: one that no variable names need not be there.
func sharedConfig(ctx context.Context, environment config.EnvConfig) (config.SharedConfig, error) {
	shared, err := config.LoadSharedConfigProfile(ctx, cmp.Or(environment.SharedConfigProfile, config.DefaultSharedConfigProfile), func(o *config.LoadSharedConfigOptions) {
		if file := environment.SharedConfigFile; file != "" {
			o.ConfigFiles = []string{file}
		}

		if file := environment.SharedCredentialsFile; file != "" {
			o.CredentialsFiles = []string{file}
		}
	})

	var missing config.SharedConfigProfileNotExistError
	if environment.SharedConfigProfile == "" && errors.As(err, &missing) {
		return config.SharedConfig{}, nil
	}

	return shared, err
}

// ServiceEndpoint is the endpoint of a service.
type ServiceEndpoint struct {
	Service string
	URL     string // "" for AWS
}

// ConfiguredEndpoints returns the endpoints that the SDK's default chain (AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_DYNAMODB,
// endpoint_url of a profile) has for the services that Ratchet uses.
func ConfiguredEndpoints(ctx context.Context) []ServiceEndpoint {
	awsConfig, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil
	}

	return []ServiceEndpoint{
		{"DynamoDB", aws.ToString(dynamodb.NewFromConfig(awsConfig).Options().BaseEndpoint)},
		{"DynamoDB Streams", aws.ToString(dynamodbstreams.NewFromConfig(awsConfig).Options().BaseEndpoint)},
		{"Step Functions", aws.ToString(sfn.NewFromConfig(awsConfig).Options().BaseEndpoint)},
		{"SQS", aws.ToString(sqs.NewFromConfig(awsConfig).Options().BaseEndpoint)},
	}
}

// remoteConfig returns the SDK's configuration for an endpoint or AWS.
func remoteConfig(ctx context.Context, cfg Config) (aws.Config, error) {
	httpClient := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost, t.MaxIdleConns = 256, 512 // all calls go to a few hosts
	})

	options := []func(*config.LoadOptions) error{config.WithHTTPClient(httpClient)}
	if cfg.EndpointURL != "" {
		options = append(options, config.WithBaseEndpoint(cfg.EndpointURL))

		// Endpoints ignore the region, but the SDK refuses to sign without one.
		if ConfiguredRegion(ctx) == "" {
			options = append(options, config.WithRegion("us-east-1"))
		}

		// A compatible endpoint accepts any credentials. Without this, the SDK's chain
		// would end at the instance metadata service, which a laptop does not have, and
		// wait for its time-out.
		if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
			anyCredentials := credentials.NewStaticCredentialsProvider("ratchet", "ratchet", "")
			options = append(options, config.WithCredentialsProvider(anyCredentials))
		}
	}

	awsConfig, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load the AWS configuration: %w", err)
	}

	if cfg.EndpointURL != "" {
		awsConfig.HTTPClient = bufferedClient{awsConfig.HTTPClient, cfg.Identity}
	}

	return awsConfig, nil
}
