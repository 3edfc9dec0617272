// The tasks API, described.
import {
  cancelledTaskSchema,
  targetsQuery,
  targetsSchema,
  taskInputSchema,
  taskResultSchema,
  taskRunQuery,
} from '../shapes/tasks.ts'
import { cancelTaskBody } from '../tasks/routes.ts'
import type { Operation } from './operation.ts'

const shared = { tag: 'Tasks', opens: 'caller' } as const

const example = {
  schema: 'agents-api/task-result/v1',
  run_id: 'run-7',
  session_id: 'orders',
  status: 'succeeded',
  executor_id: 'demo',
  execution_metrics: { wall_time_ms: 412 },
  artifact_refs: [],
  diagnostics: {},
  events: [],
  provenance: { gateway: 'parley' },
  output: { text: 'Done.' },
  started_at: '2026-01-31T08:00:00.000Z',
  updated_at: '2026-01-31T08:00:00.412Z',
  metadata: {},
}

export const taskOperations: readonly Operation[] = [
  {
    ...shared,
    method: 'post',
    path: '/api/v1/tasks/run-task',
    id: 'runTask',
    summary: 'Hands a task to an agent',
    about:
      'Idempotent by run_id: sent twice it runs once, and the second answer is 409 agents_task_run_already_started with the result so far. Placement keys may also stand at the top level.',
    headers: { prefer: 'wait=20: answer when it is done, at most so many seconds later (RFC 7240)' },
    body: {
      schema: taskInputSchema,
      example: {
        task: { id: 'order-7', instructions: 'Say when it arrives.' },
        run_id: 'run-7',
        placement: { preferred_target: 'demo' },
      },
    },
    answers: {
      200: { what: 'It has ended', schema: taskResultSchema, example },
      202: { what: 'It was taken', schema: taskResultSchema, example: { ...example, status: 'queued', output: null } },
    },
    problems: [409, 413, 422],
  },
  {
    ...shared,
    method: 'get',
    path: '/api/v1/tasks/list-execution-targets',
    id: 'listExecutionTargets',
    summary: 'Who executes tasks: every agent',
    query: targetsQuery,
    answers: { 200: { what: 'Those that fit, the preferred one first', schema: targetsSchema } },
  },
  {
    ...shared,
    method: 'get',
    path: '/api/v1/tasks/get-task-run',
    id: 'getTaskRun',
    summary: 'How a task run of your own stands',
    query: taskRunQuery,
    answers: { 200: { what: 'Its result so far', schema: taskResultSchema, example } },
    problems: [404],
  },
  {
    ...shared,
    method: 'post',
    path: '/api/v1/tasks/cancel-task-run',
    id: 'cancelTaskRun',
    summary: 'Stops a task run of your own',
    body: { ...cancelTaskBody, example: { run_id: 'run-7' } },
    answers: { 200: { what: 'Whether there was anything to stop', schema: cancelledTaskSchema } },
    problems: [404],
  },
]
