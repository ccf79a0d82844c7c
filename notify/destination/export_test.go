package destination

// What the tests of package destination_test use beside the exported names.

type Webhook = webhook
type WebhookConfig = webhookConfig
var NewLog = newLog
var NewWebhook = newWebhook
