// The contract of tasks as data (W-01 to W-03): what is asked, who fits, what an executor may say.
import { describe, expect, test } from 'vitest'
import { orderFittingTargets, type Placement, readTaskInput } from '../../../src/api/task-input.ts'
import { readStatusGivenByExecutor, readTaskMetrics } from '../../../src/api/task-result.ts'

const newId = () => 'made'

describe('W-01 a task', () => {
  test.each([
    ['no body', undefined],
    ['a list', []],
    ['no id', { task: { instructions: 'x' } }],
    ['nothing to do', { task: { id: 'a' } }],
    ['an empty input', { task: { id: 'a', input: {} } }],
    ['an id with a space', { task: { id: 'a b', instructions: 'x' } }],
    ['another schema', { schema: 'agents-api/task-input/v2', task: { id: 'a', instructions: 'x' } }],
    ['a command to the gateway', { task: { id: 'a', instructions: '/stop now' } }],
    ['a file without a type', { task: { id: 'a', attachments: [{ url: 'https://x.example/a' }] } }],
  ])('with %s is refused with what to do', (_what, given) => {
    expect(readTaskInput(given, newId)).toEqual({ problem: expect.stringMatching(/\S/) })
  })

  test.each([
    ['all in one', { task: { id: 'a', instructions: ' go ', input: { n: 1 } }, placement: { preferred_target: 'x' } }],
    ['keys at the top', { task_id: 'a', instructions: 'go', input: { n: 1 }, preferred_target: 'x' }],
  ])('with %s is the same task', (_what, given) => {
    expect(readTaskInput(given, newId)).toMatchObject({
      taskId: 'a',
      runId: 'task_run_made',
      sessionId: 'task_session_made',
      words: 'go\n\n```json\n{\n  "n": 1\n}\n```',
      placement: { preferred: 'x', allowed: [], resourceClass: 'generic', capabilities: [] },
      payload: { schema: 'agents-api/task-input/v1', task_id: 'a', input: { n: 1 } },
    })
  })
})

describe('W-02 a target', () => {
  const targets = [
    { id: 'a', capabilities: ['run'], resource_classes: ['generic'] },
    { id: 'b', capabilities: ['run', 'fly'], resource_classes: ['generic', 'large'] },
    { id: 'c', capabilities: ['run', 'fly'], resource_classes: [] },
  ]
  test.each<[string, Partial<Placement>, string[]]>([
    ['nothing asked for', {}, ['a', 'b', 'c']],
    ['a preferred one', { preferred: 'c' }, ['c', 'a', 'b']],
    ['a preferred one that lacks a capability', { preferred: 'a', capabilities: ['fly'] }, ['b', 'c']],
    ['a preferred one that is not allowed', { preferred: 'a', allowed: ['b'] }, ['b']],
    ['a class that one lists and one leaves open', { resourceClass: 'large' }, ['b', 'c']],
    ['a capability nobody has', { capabilities: ['swim'] }, []],
  ])('with %s', (_what, asked, fitting) => {
    const placement = { preferred: undefined, allowed: [], resourceClass: 'generic', capabilities: [], ...asked }
    expect(orderFittingTargets(targets, placement).map(({ id }) => id)).toEqual(fitting)
  })
})

describe('W-03 what an executor says', () => {
  test.each([
    ['FAILED', 'failed'],
    [' Cancelled ', 'cancelled'],
    ['running', 'succeeded'],
    ['done', 'succeeded'],
    [7, 'succeeded'],
  ])('the status %j of a task that has ended is %s', (given, status) => {
    expect(readStatusGivenByExecutor(given, 'succeeded')).toBe(status)
  })

  test('measures that are none are dropped', () => {
    const given = {
      wall_time_ms: 12,
      startup_time_ms: -1,
      tool_call_count: '3',
      failure_class: 'x',
      secret: 'y',
      artifact_bytes: 0,
    }
    expect(readTaskMetrics(given)).toEqual({ wall_time_ms: 12, failure_class: 'x', artifact_bytes: 0 })
    expect(readTaskMetrics('none')).toEqual({})
  })
})
