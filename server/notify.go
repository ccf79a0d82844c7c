package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
)

// configuredEndpoint is the id of the endpoint that [Config.Notify] describes.
const configuredEndpoint = "configured"

// configuredConcurrency is how many deliveries to the configured endpoint are sent at the same time.
const configuredConcurrency = notify.MaxConcurrency

// assembleNotify builds the endpoints and the deliveries to them.
func (b *Backend) assembleNotify() error {
	configured, err := configuredEndpoints(b.Config)
	if err != nil {
		return err
	}

	opener, err := b.opener()
	if err != nil {
		return err
	}

	// Stored endpoints are checked when they are stored.
	for _, e := range configured {
		if err := canOpen(opener, e); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}

	b.Endpoints, err = notify.NewEndpoints(notify.EndpointsConfig{
		DynamoDB:         b.DynamoDB,
		Table:            b.Tables.Endpoints,
		Configured:       configured,
		CheckDestination: opener.Check,
	})
	if err != nil {
		return err
	}

	b.Deliveries, err = notify.New(notify.Config{
		DynamoDB:  b.DynamoDB,
		Table:     b.Tables.Deliveries,
		Endpoints: b.Endpoints,
		Open:      opener.Open,
		Log:       b.log,
		Events:    b.notifyEvents(),
	})

	return err
}

// opener returns the Opener of the endpoints' destinations. The embedded engine has queues, but
// no topics and no event buses.
func (b *Backend) opener() (destination.Opener, error) {
	o := destination.Opener{
		Reach:   b.webhookReach(),
		Dialing: b.own.check,
		// Under `ratchet dev` the owner of the endpoints is the owner of the machine.
		HideAnswers: func() bool { return !b.own.isDev() },
		Log:         b.log,
		SQS:         b.SQS,
		Orders:      b.Orders,
		Schemes:     b.Config.Parts.Destinations,
	}
	b.propagateToEndpoints(&o)

	if b.Engine == nil {
		o.SNS, o.EventBridge = sns.NewFromConfig(b.awsConfig), eventbridge.NewFromConfig(b.awsConfig)
	}

	if b.Config.SMTPURL == "" {
		return o, nil
	}
	o.Mail = &destination.MailServer{URL: b.Config.SMTPURL.Reveal(), From: b.Config.SMTPFrom}

	return o, o.Mail.Validate()
}

// canOpen opens the destination of a configured endpoint once, so that a mistake in the
// settings shows at the start.
func canOpen(opener destination.Opener, e notify.Endpoint) error {
	// To open a webhook sends nothing. To open a file or directory shows whether it can be written.
	opened, err := opener.Open(e)
	if closer, ok := opened.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}

	return err
}

// webhookReach is the setting webhook-reach. By default webhooks may go to this machine if the data is
// on it, and else to public addresses only.
func (b *Backend) webhookReach() webhooks.Reach {
	reach := webhooks.ReachPublic
	if b.Engine != nil || isLocal(b.Config.EndpointURL) {
		reach = webhooks.ReachLoopback
	}

	return cmp.Or(webhooks.Reach(b.Config.WebhookReach), reach)
}

// configuredEndpoints returns the endpoint that the settings describe, if there is one. It gets the
// notifications of all tenants.
func configuredEndpoints(cfg Config) ([]notify.Endpoint, error) {
	if cfg.Notify == "none" {
		return nil, nil
	}

	e := notify.Endpoint{
		ID:         configuredEndpoint,
		Configured: true,
		Settings: notify.Settings{
			Destination: cfg.Notify,
			Description: "the setting notify",
			Filter:      notify.Filter{Tenant: notify.AllTenants},
			Ordered:     true,
			Concurrency: configuredConcurrency,
		},
	}

	if isHTTPURL(cfg.Notify) {
		secrets, err := webhookSecrets("webhook-secret", cfg.WebhookSecret)
		if err != nil {
			return nil, err
		}

		for _, key := range secrets {
			e.Secrets = append(e.Secrets, notify.Secret{Key: key})
		}
	}

	return []notify.Endpoint{e}, nil
}

// webhookSecrets parses the secrets of a setting, which are separated by spaces.
func webhookSecrets(setting string, value Secret) (secrets []webhooks.Secret, err error) {
	for text := range strings.FieldsSeq(value.Reveal()) {
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		secrets = append(secrets, secret)
	}

	if len(secrets) == 0 {
		return nil, fmt.Errorf("%s: must be set, like %s", setting, webhooks.NewSecret().Reveal())
	}

	return secrets, nil
}

// webhookKeys returns the secrets of a setting as keys. The first one signs; all of them
// verify.
func webhookKeys(setting string, value Secret) (*webhooks.Keys, error) {
	secrets, err := webhookSecrets(setting, value)
	if err != nil {
		return nil, err
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: secrets})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}

	return keys, nil
}
