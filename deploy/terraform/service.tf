# Written by `ratchet deploy terraform`: change the program or its settings, and write it again.
# Services on ECS with Fargate: the same as service.yaml of `ratchet deploy cloudformation`, once for each
# element of var.services.

variable "services" {
  description = "What runs: worker, api, activities, stream, requests, notifications, sweeps, jobs. Empty: nothing, as when the workers run elsewhere."
  type = map(object({
    image           = string
    tasks           = optional(number, 2)
    cpu             = optional(number, 512)
    memory          = optional(number, 1024)
    settings        = optional(list(string), [])
    secrets         = optional(map(string), {}) # ARNs of secrets, by variable: RATCHET_WEBHOOK_SECRET
    target_group    = optional(string)
    security_groups = list(string)
  }))
  default = {}

  validation {
    condition     = alltrue([for part in keys(var.services) : contains(["worker", "api", "activities", "stream", "requests", "notifications", "sweeps", "jobs"], part)])
    error_message = "A service is one of worker, api, activities, stream, requests, notifications, sweeps, jobs."
  }
}

variable "cluster" {
  description = "ARN of the ECS cluster of the services."
  type        = string
  default     = ""
}

variable "subnets" {
  description = "Private subnets with a way to AWS: a NAT gateway or VPC endpoints."
  type        = list(string)
  default     = []
}

variable "log_days" {
  description = "How long logs are kept."
  type        = number
  default     = 365
}

locals {
  secrets = distinct(flatten([for service in values(var.services) : values(service.secrets)]))

  commands = { for part in keys(var.services) : part => part == "api" ? ["serve", "--api-listen", ":8701"] : part == "worker" ? ["worker"] : ["worker", "--only", part] }
}

resource "aws_cloudwatch_log_group" "service" {
  for_each = var.services

  name              = "/ratchet/${var.prefix}${each.key}"
  retention_in_days = var.log_days
}

# Of ECS itself: it fetches the image and writes the logs.
resource "aws_iam_role" "execution" {
  count = length(var.services) == 0 ? 0 : 1

  name = "${var.prefix}ecs"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ecs-tasks.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy_attachment" "execution" {
  count = length(var.services) == 0 ? 0 : 1

  role       = aws_iam_role.execution[0].name
  policy_arn = "arn:${local.partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

resource "aws_iam_role_policy" "secrets" {
  count = length(local.secrets) == 0 ? 0 : 1

  name = "secrets"
  role = aws_iam_role.execution[0].name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = "secretsmanager:GetSecretValue"
      Resource = local.secrets
    }]
  })
}

resource "aws_ecs_task_definition" "service" {
  for_each = var.services

  family                   = "${var.prefix}${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = each.value.cpu
  memory                   = each.value.memory
  execution_role_arn       = aws_iam_role.execution[0].arn
  task_role_arn            = aws_iam_role.process[each.key].arn

  container_definitions = jsonencode([{
    name                   = "ratchet"
    image                  = each.value.image
    essential              = true
    readonlyRootFilesystem = true
    user                   = "65532"
    stopTimeout            = 120 # a worker finishes its work in hand
    command                = concat(local.commands[each.key], each.value.settings)

    environment = [
      { name = "AWS_REGION", value = local.region },
      { name = "RATCHET_PREFIX", value = var.prefix },
      { name = "RATCHET_REQUESTS_QUEUE", value = aws_sqs_queue.requests.name },
      { name = "RATCHET_ORDER_LISTS", value = "true" },
      { name = "RATCHET_LOG_FORMAT", value = "json" },
    ]

    secrets = [for name, arn in each.value.secrets : { name = name, valueFrom = arn }]

    healthCheck = {
      command     = ["CMD", "/ratchet", "health", "--live"]
      interval    = 30
      timeout     = 10
      retries     = 3
      startPeriod = 60
    }

    portMappings = each.key == "api" ? [{ containerPort = 8701, protocol = "tcp" }] : []

    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.service[each.key].name
        awslogs-region        = local.region
        awslogs-stream-prefix = "ratchet"
      }
    }
  }])
}

resource "aws_ecs_service" "service" {
  for_each = var.services

  name                               = "${var.prefix}${each.key}"
  cluster                            = var.cluster
  launch_type                        = "FARGATE"
  desired_count                      = each.value.tasks
  task_definition                    = aws_ecs_task_definition.service[each.key].arn
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    assign_public_ip = false
    subnets          = var.subnets
    security_groups  = each.value.security_groups
  }

  dynamic "load_balancer" {
    for_each = each.value.target_group == null ? [] : [each.value.target_group]
    content {
      container_name   = "ratchet"
      container_port   = 8701
      target_group_arn = load_balancer.value
    }
  }
}
