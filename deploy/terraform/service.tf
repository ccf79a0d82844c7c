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
    max_tasks       = optional(number, 0)   # with more than tasks the service scales, and the cluster needs Container Insights
    backlog         = optional(number, 100) # requests that wait in the queue for each process, which scaling aims at
    security_groups = list(string)
  }))
  default = {}

  validation {
    condition     = alltrue([for name in keys(var.services) : contains(["worker", "api", "activities", "stream", "requests", "notifications", "sweeps", "jobs"], split("/", name)[0])])
    error_message = "A service is one of worker, api, activities, stream, requests, notifications, sweeps, jobs; with /blue or /green behind it, two of a part run side by side."
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

  # A name like api/blue is the part api, and its service is called api-blue.
  parts = { for name in keys(var.services) : name => split("/", name)[0] }
  named = { for name in keys(var.services) : name => replace(name, "/", "-") }

  commands = { for name, part in local.parts : name => part == "api" ? ["serve", "--api-listen", ":8701"] : part == "worker" ? ["worker"] : ["worker", "--only", part] }

  scaled          = { for name, service in var.services : name => service if service.max_tasks > 0 }
  scaled_by_queue = { for name, service in local.scaled : name => service if contains(["worker", "requests"], local.parts[name]) }
  scaled_by_quota = { for name, service in local.scaled : name => service if contains(["worker", "activities"], local.parts[name]) }
}

resource "aws_cloudwatch_log_group" "service" {
  for_each = var.services

  name              = "/ratchet/${var.prefix}${local.named[each.key]}"
  retention_in_days = var.log_days
}

# Of ECS itself: it fetches the image and writes the logs.
resource "aws_iam_role" "execution" {
  count = length(var.services) == 0 ? 0 : 1

  name = "${var.prefix}ecs${var.name_suffix}"

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

  family                   = "${var.prefix}${local.named[each.key]}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = each.value.cpu
  memory                   = each.value.memory
  execution_role_arn       = aws_iam_role.execution[0].arn
  task_role_arn            = aws_iam_role.process[local.parts[each.key]].arn

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
      # CloudWatch Logs makes the metrics of which alarms.tf has alarms.
      { name = "RATCHET_CLOUDWATCH_FIGURES", value = "true" },
    ]

    secrets = [for name, arn in each.value.secrets : { name = name, valueFrom = arn }]

    healthCheck = {
      command     = ["CMD", "/ratchet", "health", "--live"]
      interval    = 30
      timeout     = 10
      retries     = 3
      startPeriod = 60
    }

    portMappings = local.parts[each.key] == "api" ? [{ containerPort = 8701, protocol = "tcp" }] : []

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

  name                               = "${var.prefix}${local.named[each.key]}"
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

resource "aws_appautoscaling_target" "service" {
  for_each = local.scaled

  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = "service/${element(split("/", var.cluster), 1)}/${aws_ecs_service.service[each.key].name}"
  min_capacity       = each.value.tasks
  max_capacity       = each.value.max_tasks
}

# More processes while they are busy.
resource "aws_appautoscaling_policy" "busy" {
  for_each = local.scaled

  name               = "${var.prefix}${local.named[each.key]}-busy"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = aws_appautoscaling_target.service[each.key].resource_id

  target_tracking_scaling_policy_configuration {
    target_value = 60

    predefined_metric_specification {
      predefined_metric_type = "ECSServiceAverageCPUUtilization"
    }
  }
}

# More processes while requests wait in the queue.
resource "aws_appautoscaling_policy" "backlog" {
  for_each = local.scaled_by_queue

  name               = "${var.prefix}${local.named[each.key]}-backlog"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = aws_appautoscaling_target.service[each.key].resource_id

  target_tracking_scaling_policy_configuration {
    target_value = each.value.backlog

    customized_metric_specification {
      metrics {
        id         = "backlog"
        expression = "waiting / running"
        label      = "Requests that wait for each process"
      }

      metrics {
        id          = "waiting"
        return_data = false

        metric_stat {
          stat = "Average"

          metric {
            namespace   = "AWS/SQS"
            metric_name = "ApproximateNumberOfMessagesVisible"

            dimensions {
              name  = "QueueName"
              value = "${var.prefix}requests"
            }
          }
        }
      }

      metrics {
        id          = "running"
        return_data = false

        metric_stat {
          stat = "Average"

          metric {
            namespace   = "ECS/ContainerInsights"
            metric_name = "RunningTaskCount"

            dimensions {
              name  = "ClusterName"
              value = element(split("/", var.cluster), 1)
            }

            dimensions {
              name  = "ServiceName"
              value = aws_ecs_service.service[each.key].name
            }
          }
        }
      }
    }
  }
}

# One process less when their polls use up the quota of GetActivityTask: more would only be throttled.
resource "aws_appautoscaling_policy" "quota" {
  for_each = local.scaled_by_quota

  name               = "${var.prefix}${local.named[each.key]}-quota"
  policy_type        = "StepScaling"
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = aws_appautoscaling_target.service[each.key].resource_id

  step_scaling_policy_configuration {
    adjustment_type = "ChangeInCapacity"
    cooldown        = 600

    step_adjustment {
      metric_interval_lower_bound = 0
      scaling_adjustment          = -1
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "quota" {
  for_each = local.scaled_by_quota

  alarm_name          = "${var.prefix}${local.named[each.key]}-quota"
  alarm_description   = "Polls for tasks are throttled, so the service has one process less"
  namespace           = "AWS/States"
  metric_name         = "ThrottledEvents"
  statistic           = "Sum"
  dimensions          = { APIName = "GetActivityTask" }
  period              = 60
  evaluation_periods  = 5
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_appautoscaling_policy.quota[each.key].arn]
}
