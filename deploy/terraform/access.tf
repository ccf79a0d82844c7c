# Written by `ratchet deploy terraform`: change the program or its settings, and write it again.
# Who may call what: the calls that a test has recorded of each part, as one policy for each.

locals {
  # For each part, what it may do with which resources. A resource is a kind and a name; @ stands for the prefix.
  statements = {
    activities = [
      {
        actions   = ["states:ListStateMachines", "states:SendTaskFailure", "states:SendTaskHeartbeat", "states:SendTaskSuccess"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:CreateActivity", "states:GetActivityTask"]
        resources = [["activity", "@accept"], ["activity", "@compensate"], ["activity", "@look"], ["activity", "@pay"]]
      },
      {
        actions   = ["states:DescribeStateMachine"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@accounts"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query"]
        resources = [["table", "@carrier-reports"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@holds"], ["table", "@inventory"]]
      },
      {
        actions   = ["dynamodb:DeleteItem"]
        resources = [["table", "@inventory-due"]]
      },
      {
        actions   = ["dynamodb:PutItem"]
        resources = [["table", "@ledger"], ["table", "@transfers"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@once"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
        resources = [["table", "@order-requests"], ["table", "@payments"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:GetItem"]
        resources = [["table", "@parked-tasks"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:PutItem"]
        resources = [["table", "@payments-due"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:UpdateItem"]
        resources = [["table", "@refusals"]]
      },
    ]
    api = [
      {
        actions   = ["cloudwatch:DescribeAlarms", "dynamodb:ListStreams", "dynamodb:ListTables", "sqs:ListQueues", "states:ListActivities", "states:ListStateMachines", "states:SendTaskFailure", "states:SendTaskSuccess"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:DescribeExecution", "states:GetExecutionHistory", "states:RedriveExecution"]
        resources = [["execution", "@order:*"]]
      },
      {
        actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl"]
        resources = [["queue", "@requests"]]
      },
      {
        actions   = ["iam:SimulatePrincipalPolicy"]
        resources = [["role", "@*"]]
      },
      {
        actions   = ["states:DescribeStateMachine", "states:ListExecutions", "states:StartExecution"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:DescribeContinuousBackups", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"]
        resources = [["table", "@*"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@accounts"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@actions"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
        resources = [["table", "@api-keys"], ["table", "@order-requests"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@audit"], ["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@carrier-reports"], ["table", "@dead-letters"], ["table", "@jobs"], ["table", "@order-lists"], ["table", "@scheduled-requests"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@deliveries"]]
      },
      {
        actions   = ["dynamodb:Query"]
        resources = [["table", "@deliveries/index/queue"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@endpoints"], ["table", "@inventory"], ["table", "@once"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@holds"], ["table", "@leases"], ["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:PutItem"]
        resources = [["table", "@inventory-due"], ["table", "@orders-due"], ["table", "@payments-due"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@ledger"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        resources = [["table", "@orders/stream/*"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@parked-tasks"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan"]
        resources = [["table", "@payments"], ["table", "@transfers"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@refusals"]]
      },
    ]
    doctor = [
      {
        actions   = ["cloudformation:GetResource", "cloudformation:ListResources", "ecs:DescribeServices", "ecs:DescribeTaskDefinition", "ecs:ListClusters", "ecs:ListServices", "logs:DescribeIndexPolicies", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:GetDataProtectionPolicy", "logs:ListTagsForResource"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["lambda:GetFunction", "lambda:GetFunctionCodeSigningConfig", "lambda:GetFunctionRecursionConfig", "lambda:GetFunctionScalingConfig", "lambda:GetRuntimeManagementConfig"]
        resources = [["function", "@*"]]
      },
      {
        actions   = ["iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListEntitiesForPolicy"]
        resources = [["policy", "@*"]]
      },
      {
        actions   = ["sqs:GetQueueAttributes", "sqs:ListQueueTags"]
        resources = [["queue", "@requests"], ["queue", "@requests-dead-letters"]]
      },
      {
        actions   = ["iam:GetRole", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies"]
        resources = [["role", "@*"]]
      },
      {
        actions   = ["events:DescribeRule", "events:ListTagsForResource", "events:ListTargetsByRule"]
        resources = [["rule", "@executions"]]
      },
      {
        actions   = ["sns:GetDataProtectionPolicy", "sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic", "sns:ListTagsForResource"]
        resources = [["topic", "@alarms"]]
      },
    ]
    jobs = [
      {
        actions   = ["states:ListStateMachines"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:DescribeExecution", "states:RedriveExecution"]
        resources = [["execution", "@order:*"]]
      },
      {
        actions   = ["states:DescribeStateMachine", "states:ListExecutions"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@audit"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@carrier-reports"], ["table", "@jobs"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@dead-letters"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@deliveries"]]
      },
      {
        actions   = ["dynamodb:Query"]
        resources = [["table", "@deliveries/index/queue"]]
      },
      {
        actions   = ["dynamodb:GetItem"]
        resources = [["table", "@endpoints"]]
      },
      {
        actions   = ["dynamodb:UpdateItem"]
        resources = [["table", "@leases"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@order-lists"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:DeleteItem"]
        resources = [["table", "@orders-due"], ["table", "@refusals"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:Query"]
        resources = [["table", "@scheduled-requests"]]
      },
    ]
    notifications = [
      {
        actions   = ["states:ListStateMachines"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["sqs:SendMessage"]
        resources = [["queue", "@listen-*"]]
      },
      {
        actions   = ["states:DescribeStateMachine"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@deliveries"]]
      },
      {
        actions   = ["dynamodb:Query"]
        resources = [["table", "@deliveries/index/queue"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@endpoints"]]
      },
      {
        actions   = ["dynamodb:GetItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@processes"]]
      },
    ]
    operator = [
      {
        actions   = ["states:ListStateMachines", "states:SendTaskFailure", "states:SendTaskSuccess"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:DescribeExecution", "states:RedriveExecution"]
        resources = [["execution", "@order:*"]]
      },
      {
        actions   = ["sqs:CreateQueue", "sqs:DeleteMessage", "sqs:DeleteQueue", "sqs:ReceiveMessage"]
        resources = [["queue", "@listen-*"]]
      },
      {
        actions   = ["states:ListExecutions", "states:StartExecution"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@accounts"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@actions"], ["table", "@api-keys"], ["table", "@endpoints"], ["table", "@holds"], ["table", "@inventory"], ["table", "@once"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@audit"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@carrier-reports"], ["table", "@dead-letters"], ["table", "@jobs"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@deliveries"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@inventory-due"], ["table", "@payments-due"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@leases"]]
      },
      {
        actions   = ["dynamodb:PutItem"]
        resources = [["table", "@ledger"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@order-lists"], ["table", "@orders-due"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
        resources = [["table", "@order-requests"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        resources = [["table", "@orders/stream/*"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@parked-tasks"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan"]
        resources = [["table", "@payments"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query"]
        resources = [["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:UpdateItem"]
        resources = [["table", "@refusals"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@scheduled-requests"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Scan"]
        resources = [["table", "@transfers"]]
      },
    ]
    requests = [
      {
        actions   = ["states:ListStateMachines"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
        resources = [["queue", "@requests"]]
      },
      {
        actions   = ["sqs:GetQueueUrl", "sqs:SendMessage"]
        resources = [["queue", "@requests-dead-letters"]]
      },
      {
        actions   = ["states:DescribeStateMachine"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@once"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
        resources = [["table", "@order-requests"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:PutItem"]
        resources = [["table", "@orders-due"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:UpdateItem"]
        resources = [["table", "@refusals"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@scheduled-requests"]]
      },
    ]
    sandbox = [
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@sandbox-charges"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@sandbox-shipments"]]
      },
    ]
    stream = [
      {
        actions   = ["states:ListStateMachines", "states:SendTaskFailure", "states:SendTaskSuccess"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:DescribeStateMachine"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@accounts"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@carrier-reports"]]
      },
      {
        actions   = ["dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@dead-letters"], ["table", "@leases"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@deliveries"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@endpoints"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@holds"], ["table", "@inventory"]]
      },
      {
        actions   = ["dynamodb:DeleteItem"]
        resources = [["table", "@inventory-due"]]
      },
      {
        actions   = ["dynamodb:PutItem"]
        resources = [["table", "@ledger"], ["table", "@transfers"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@once"], ["table", "@parked-tasks"]]
      },
      {
        actions   = ["dynamodb:PartiQLInsert", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@order-lists"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
        resources = [["table", "@order-requests"], ["table", "@payments"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:PutItem"]
        resources = [["table", "@orders-due"], ["table", "@payments-due"]]
      },
      {
        actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        resources = [["table", "@orders/stream/*"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:UpdateItem"]
        resources = [["table", "@refusals"]]
      },
    ]
    sweeps = [
      {
        actions   = ["states:ListStateMachines"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:DescribeExecution"]
        resources = [["execution", "@order:*"]]
      },
      {
        actions   = ["states:DescribeStateMachine", "states:ListExecutions"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@accounts"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@carrier-reports"], ["table", "@holds"], ["table", "@orders-due"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        resources = [["table", "@inventory"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@inventory-due"], ["table", "@payments-due"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query"]
        resources = [["table", "@leases"]]
      },
      {
        actions   = ["dynamodb:PutItem"]
        resources = [["table", "@ledger"], ["table", "@transfers"]]
      },
      {
        actions   = ["dynamodb:PutItem", "dynamodb:Query"]
        resources = [["table", "@order-events"]]
      },
      {
        actions   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@order-lists"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
        resources = [["table", "@order-requests"], ["table", "@payments"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@orders"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        resources = [["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:UpdateItem"]
        resources = [["table", "@refusals"]]
      },
      {
        actions   = ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem"]
        resources = [["table", "@scheduled-requests"]]
      },
    ]
    viewer = [
      {
        actions   = ["cloudwatch:DescribeAlarms", "dynamodb:ListStreams", "dynamodb:ListTables", "sqs:ListQueues", "states:ListActivities", "states:ListStateMachines"]
        resources = [["other", "*"]]
      },
      {
        actions   = ["states:DescribeExecution", "states:GetExecutionHistory"]
        resources = [["execution", "@order:*"]]
      },
      {
        actions   = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl"]
        resources = [["queue", "@requests"]]
      },
      {
        actions   = ["iam:SimulatePrincipalPolicy"]
        resources = [["role", "@*"]]
      },
      {
        actions   = ["states:DescribeStateMachine", "states:ListExecutions"]
        resources = [["stateMachine", "@order"]]
      },
      {
        actions   = ["dynamodb:DescribeContinuousBackups", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"]
        resources = [["table", "@*"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Scan"]
        resources = [["table", "@accounts"], ["table", "@transfers"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:GetItem"]
        resources = [["table", "@actions"], ["table", "@inventory"], ["table", "@refusals"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:Scan"]
        resources = [["table", "@api-keys"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:Query"]
        resources = [["table", "@audit"], ["table", "@order-events"], ["table", "@scheduled-requests"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Query"]
        resources = [["table", "@carrier-reports"], ["table", "@dead-letters"], ["table", "@holds"], ["table", "@jobs"], ["table", "@leases"], ["table", "@processes"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"]
        resources = [["table", "@deliveries"]]
      },
      {
        actions   = ["dynamodb:Query"]
        resources = [["table", "@deliveries/index/queue"]]
      },
      {
        actions   = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Scan"]
        resources = [["table", "@endpoints"], ["table", "@once"], ["table", "@orders"], ["table", "@parked-tasks"], ["table", "@payments"]]
      },
      {
        actions   = ["dynamodb:DescribeTable"]
        resources = [["table", "@inventory-due"], ["table", "@order-lists"], ["table", "@order-requests"], ["table", "@orders-due"], ["table", "@payments-due"]]
      },
      {
        actions   = ["dynamodb:BatchGetItem", "dynamodb:DescribeTable", "dynamodb:Query", "dynamodb:Scan"]
        resources = [["table", "@ledger"]]
      },
      {
        actions   = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        resources = [["table", "@orders/stream/*"]]
      },
    ]
  }

  in_account = "${local.region}:${local.account}:"

  arns = {
    table        = "arn:${local.partition}:dynamodb:${local.in_account}table/"
    queue        = "arn:${local.partition}:sqs:${local.in_account}"
    activity     = "arn:${local.partition}:states:${local.in_account}activity:"
    stateMachine = "arn:${local.partition}:states:${local.in_account}stateMachine:"
    role         = "arn:${local.partition}:iam::${local.account}:role/"
    policy       = "arn:${local.partition}:iam::${local.account}:policy/"
    topic        = "arn:${local.partition}:sns:${local.in_account}"
    rule         = "arn:${local.partition}:events:${local.in_account}rule/"
    function     = "arn:${local.partition}:lambda:${local.in_account}function:"
    execution    = "arn:${local.partition}:states:${local.in_account}execution:"
    other        = ""
  }

  policies = { for part, statements in local.statements : part => {
    Version = "2012-10-17"
    Statement = [for one in statements : {
      Effect   = "Allow"
      Action   = one.actions
      Resource = [for r in one.resources : join("", [local.arns[r[0]], replace(r[1], "@", var.prefix)])]
    }]
  } }

  # The parts of a process.
  roles = {
    worker        = ["activities", "stream", "requests", "notifications", "sweeps", "jobs"]
    api           = ["api", "doctor"]
    activities    = ["activities"]
    stream        = ["stream"]
    requests      = ["requests"]
    notifications = ["notifications"]
    sweeps        = ["sweeps"]
    jobs          = ["jobs"]
  }

  people = {
    viewer   = ["viewer", "doctor"]
    operator = ["viewer", "operator", "doctor"]
  }

  attachments = merge(
    { for pair in flatten([for role, parts in merge(local.roles, local.people) : [for part in parts : { role = role, part = part }]]) : "${pair.role}/${pair.part}" => pair },
    { for role in keys(local.roles) : "${role}/sandbox" => { role = role, part = "sandbox" } if var.sandbox },
  )
}

resource "aws_iam_policy" "part" {
  for_each = { for part, policy in local.policies : part => policy if var.sandbox || part != "sandbox" }

  name   = "${var.prefix}${each.key}${var.name_suffix}"
  policy = jsonencode(each.value)
}

resource "aws_iam_role" "process" {
  for_each = local.roles

  name = "${var.prefix}${each.key}${var.name_suffix}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "${var.compute}.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role" "person" {
  for_each = local.people

  name = "${var.prefix}${each.key}${var.name_suffix}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
      Action    = "sts:AssumeRole"
      Condition = { Bool = { "aws:MultiFactorAuthPresent" = "true" } }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "part" {
  for_each = local.attachments

  role       = contains(keys(local.people), each.value.role) ? aws_iam_role.person[each.value.role].name : aws_iam_role.process[each.value.role].name
  policy_arn = aws_iam_policy.part[each.value.part].arn
}
