# Written by `ratchet deploy terraform`: change the program or its settings, and write it again.
# Alarms, each with a page below docs/operate/runbooks, and a rule for executions that end badly: the same as
# alarms.yaml of `ratchet deploy cloudformation`.

variable "email" {
  description = "Who gets the alarms; empty to subscribe to the topic yourself."
  type        = string
  default     = ""
}

variable "stream_reader" {
  description = "What reads the stream of the orders: worker, or lambda."
  type        = string
  default     = "worker"

  validation {
    condition     = contains(["worker", "lambda"], var.stream_reader)
    error_message = "One of worker, lambda."
  }
}

locals {
  # What an alarm has unless it says otherwise.
  usual_alarm = {
    statistic  = "Sum"
    period     = 300
    periods    = 1
    threshold  = 0
    comparison = "GreaterThanThreshold"
    missing    = "notBreaching"
    namespace  = ""
    metric     = ""
    dimensions = {}
    expression = "" # of an alarm that computes: with the metrics by the names that it uses
    metrics    = {}
    id         = "" # of the expression
  }

  # Alarms of what reads the stream.
  alarms_of_workers   = ["no-stream-reader", "stream-lag", "stream-gaps"]
  alarms_of_functions = ["stream-on-lambda", "stream-function-idle", "stream-batches-discarded"]

  stopped_alarms = { for activity in local.activities : "activities-not-started-${activity}" => {
    description = "Tasks of the activity ${activity} are scheduled and no worker starts any. Runbook: docs/operate/runbooks/activities-waiting.md"
    id          = "stopped"
    expression  = "IF(FILL(scheduled, 0) > 0 AND FILL(started, 0) == 0, 1, 0)"
    period      = 900
    metrics = { for id, metric in { scheduled = "ActivitiesScheduled", started = "ActivitiesStarted" } : id => {
      namespace = "AWS/States", metric = metric, dimensions = { ActivityArn = aws_sfn_activity.activity[activity].arn }
    } }
  } }

  waiting_alarms = { for activity in local.activities : "activities-waiting-${activity}" => {
    description = "Tasks of the activity ${activity} wait more than a minute for a worker. Runbook: docs/operate/runbooks/activities-waiting.md"
    namespace   = "AWS/States"
    metric      = "ActivityScheduleTime"
    statistic   = "p99"
    dimensions  = { ActivityArn = aws_sfn_activity.activity[activity].arn }
    periods     = 2
    threshold   = 60000
  } }

  alarms = { for name, alarm in merge(local.stopped_alarms, local.waiting_alarms, {
    stream-on-lambda = {
      description = "The function that reads the stream of the orders is behind. Runbook: docs/operate/runbooks/stream-behind.md"
      namespace   = "AWS/Lambda"
      metric      = "IteratorAge"
      statistic   = "Maximum"
      dimensions  = { FunctionName = "${var.prefix}stream" }
      periods     = 2
      threshold   = 300000
    }
    stream-function-idle = {
      description = "Orders are written, and Lambda does not invoke the function that reads their stream. Runbook: docs/operate/runbooks/stream-behind.md"
      id          = "idle"
      expression  = "IF(FILL(writes, 0) > 0 AND FILL(invocations, 0) == 0, 1, 0)"
      metrics = {
        writes      = { namespace = "AWS/DynamoDB", metric = "ConsumedWriteCapacityUnits", dimensions = { TableName = "${var.prefix}orders" } }
        invocations = { namespace = "AWS/Lambda", metric = "Invocations", dimensions = { FunctionName = "${var.prefix}stream" } }
      }
      period  = 900
      periods = 2
    }
    stream-batches-discarded = {
      description = "Lambda has given up batches of the orders' stream, which no handler got. Runbook: docs/operate/runbooks/stream-behind.md"
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      statistic   = "Maximum"
      dimensions  = { QueueName = "${var.prefix}discarded-batches" }
    }
    # What only processes measure, as in alarms.yaml.
    stream-lag = {
      description = "The oldest record of the orders' stream that is not handled is more than five minutes old, or no worker says how old it is (they do with the setting cloudwatch-figures). Runbook: docs/operate/runbooks/stream-behind.md"
      namespace   = "Ratchet"
      metric      = "StreamLag"
      statistic   = "Maximum"
      dimensions  = { Prefix = var.prefix }
      periods     = 2
      threshold   = 300
      missing     = "breaching"
    }
    stream-gaps = {
      description = "Records of the orders' stream were lost before a worker read them. Runbook: docs/operate/runbooks/stream-behind.md"
      namespace   = "Ratchet"
      metric      = "StreamGaps"
      dimensions  = { Prefix = var.prefix }
    }
    api-errors = {
      description = "More than 5 percent of the API's answers are server errors. Runbook: docs/operate/runbooks/api-failing.md"
      id          = "share"
      expression  = "IF(calls > 0, 100 * errors / calls, 0)"
      metrics = {
        calls  = { namespace = "Ratchet", metric = "APIRequests", dimensions = { Prefix = var.prefix } }
        errors = { namespace = "Ratchet", metric = "APIErrors", dimensions = { Prefix = var.prefix } }
      }
      threshold = 5
    }
    api-latency = {
      description = "One of 100 requests of the API takes more than five seconds. Runbook: docs/operate/runbooks/api-failing.md"
      namespace   = "Ratchet"
      metric      = "APILatency"
      statistic   = "Maximum"
      dimensions  = { Prefix = var.prefix }
      periods     = 2
      threshold   = 5
    }
    payments-failing = {
      description = "More than 20 percent of the calls of the payment processor fail. Runbook: docs/operate/runbooks/payments-failing.md"
      id          = "share"
      expression  = "IF(calls > 0, 100 * errors / calls, 0)"
      metrics = {
        calls  = { namespace = "Ratchet", metric = "PaymentCalls", dimensions = { Prefix = var.prefix } }
        errors = { namespace = "Ratchet", metric = "PaymentErrors", dimensions = { Prefix = var.prefix } }
      }
      period    = 600
      threshold = 20
    }
    notifications-missed = {
      description = "Notifications were given up. Runbook: docs/operate/runbooks/notifications-missed.md"
      namespace   = "Ratchet"
      metric      = "NotificationsMissed"
      dimensions  = { Prefix = var.prefix }
    }
    executions-failed = {
      description = "An execution of an order has failed. Runbook: docs/operate/runbooks/executions-failed.md"
      namespace   = "AWS/States"
      metric      = "ExecutionsFailed"
      dimensions  = { StateMachineArn = aws_sfn_state_machine.order.arn }
    }
    executions-timed-out = {
      description = "An execution of an order has timed out. Runbook: docs/operate/runbooks/executions-timed-out.md"
      namespace   = "AWS/States"
      metric      = "ExecutionsTimedOut"
      dimensions  = { StateMachineArn = aws_sfn_state_machine.order.arn }
    }
    no-stream-reader = {
      description = "No worker renews a lease, so the stream of the orders is not read. Runbook: docs/operate/runbooks/no-stream-reader.md"
      namespace   = "AWS/DynamoDB"
      metric      = "ConsumedWriteCapacityUnits"
      dimensions  = { TableName = "${var.prefix}leases" }
      period      = 60
      periods     = 5
      threshold   = 1
      comparison  = "LessThanThreshold"
      missing     = "breaching"
    }
    handlers-failing = {
      description = "Handlers of the stream fail, and their records wait or are dead letters. Runbook: docs/operate/runbooks/handlers-failing.md"
      namespace   = "AWS/DynamoDB"
      metric      = "ConsumedWriteCapacityUnits"
      dimensions  = { TableName = "${var.prefix}dead-letters" }
      periods     = 3
    }
    orders-throttled = {
      description = "DynamoDB throttles writes of orders. Runbook: docs/operate/runbooks/orders-throttled.md"
      namespace   = "AWS/DynamoDB"
      metric      = "WriteThrottleEvents"
      dimensions  = { TableName = "${var.prefix}orders" }
      period      = 60
      periods     = 5
    }
    requests-dead-letters = {
      description = "Requests from the queue were rejected. Runbook: docs/operate/runbooks/requests-dead-letters.md"
      namespace   = "AWS/SQS"
      metric      = "ApproximateNumberOfMessagesVisible"
      statistic   = "Maximum"
      dimensions  = { QueueName = "${var.prefix}requests-dead-letters" }
    }
    requests-waiting = {
      description = "Requests wait in the queue for more than ten minutes. Runbook: docs/operate/runbooks/requests-waiting.md"
      namespace   = "AWS/SQS"
      metric      = "ApproximateAgeOfOldestMessage"
      statistic   = "Maximum"
      dimensions  = { QueueName = "${var.prefix}requests" }
      periods     = 2
      threshold   = 600
    }
  }) : name => merge(local.usual_alarm, alarm) if !contains(var.stream_reader == "worker" ? local.alarms_of_functions : local.alarms_of_workers, name) }
}

resource "aws_kms_key" "alarms" {
  description         = "Encrypts the topic of the alarms"
  enable_key_rotation = true

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
        Action    = "kms:*"
        Resource  = "*"
      },
      {
        Effect    = "Allow"
        Principal = { Service = ["cloudwatch.amazonaws.com", "events.amazonaws.com"] }
        Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource  = "*"
      },
    ]
  })
}

resource "aws_sns_topic" "alarms" {
  name              = "${var.prefix}alarms"
  kms_master_key_id = aws_kms_key.alarms.id
}

resource "aws_sns_topic_policy" "alarms" {
  arn = aws_sns_topic.alarms.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = ["cloudwatch.amazonaws.com", "events.amazonaws.com"] }
      Action    = "sns:Publish"
      Resource  = aws_sns_topic.alarms.arn
      Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
    }]
  })
}

resource "aws_sns_topic_subscription" "email" {
  count = var.email == "" ? 0 : 1

  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = var.email
}

# The alarms count; this names the execution, and so the order.
resource "aws_cloudwatch_event_rule" "executions" {
  name = "${var.prefix}executions"

  event_pattern = jsonencode({
    source      = ["aws.states"]
    detail-type = ["Step Functions Execution Status Change"]
    detail = {
      status          = ["FAILED", "TIMED_OUT", "ABORTED"]
      stateMachineArn = [aws_sfn_state_machine.order.arn]
    }
  })
}

resource "aws_cloudwatch_event_target" "executions" {
  rule      = aws_cloudwatch_event_rule.executions.name
  target_id = "topic"
  arn       = aws_sns_topic.alarms.arn
}

resource "aws_cloudwatch_metric_alarm" "alarm" {
  for_each = local.alarms

  alarm_name          = "${var.prefix}${each.key}"
  alarm_description   = each.value.description
  namespace           = each.value.expression == "" ? each.value.namespace : null
  metric_name         = each.value.expression == "" ? each.value.metric : null
  statistic           = startswith(each.value.statistic, "p") || each.value.expression != "" ? null : each.value.statistic
  extended_statistic  = startswith(each.value.statistic, "p") ? each.value.statistic : null
  dimensions          = each.value.expression == "" ? each.value.dimensions : null
  period              = each.value.expression == "" ? each.value.period : null
  evaluation_periods  = each.value.periods
  threshold           = each.value.threshold
  comparison_operator = each.value.comparison
  treat_missing_data  = each.value.missing
  alarm_actions       = [aws_sns_topic.alarms.arn]
  ok_actions          = [aws_sns_topic.alarms.arn]

  dynamic "metric_query" {
    for_each = each.value.expression == "" ? [] : [1]
    content {
      id          = each.value.id
      expression  = each.value.expression
      return_data = true
    }
  }

  dynamic "metric_query" {
    for_each = each.value.metrics
    content {
      id = metric_query.key

      metric {
        namespace   = metric_query.value.namespace
        metric_name = metric_query.value.metric
        dimensions  = metric_query.value.dimensions
        stat        = each.value.statistic
        period      = each.value.period
      }
    }
  }
}
