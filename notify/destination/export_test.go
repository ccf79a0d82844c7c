package destination

// Names for the tests of package destination_test, beside the exported ones.

type Webhook = webhook
type WebhookConfig = webhookConfig

var NewLog = newLog
var NewWebhook = newWebhook
