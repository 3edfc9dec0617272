// Tools that run elsewhere: answered once; a later answer is told what there is (L-50).

import { expect, test } from 'vitest'
import { toCancelledAnswer, toSubmittedAnswer } from '../../../src/agents/client-tools.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { answerToolRequest, getToolRequest, listToolRequests, loadToolRequest } from '../../../src/db/tool-requests.ts'
import { fireDueTimers } from '../../../src/db/transcripts.ts'
import { aRequest, owner, pauseTurn, tenant, type Wake, wakes } from '../../doubles/paused-turn.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const all = { tenant, owner: null, conversationId: null }
const due = nameStatement('test_due', `update timers set due_at = now() - interval '1 s'`)

describeOnDatabase('requests for tools that run elsewhere', (database) => {
  const store = () => openTenantDb(database())
  const woken = () => database().query<Wake>(wakes, [])
  const opened = toSubmittedAnswer({ result: 'open' })

  test('are shown without secrets, and with their parameters to whoever runs the tool', async () => {
    const request = aRequest()
    await pauseTurn(database(), { requests: [request] })
    const listed = await listToolRequests(store(), all, { status: 'runtime_tool_pending', limit: 10, before: null })
    expect(listed).toMatchObject([{ id: request.id, tool_name: 'client/open', owner }])
    expect(JSON.stringify(listed)).not.toContain('canary')
    expect(await getToolRequest(store(), all, request.requestId)).toMatchObject({
      parameters: { door: 3, pin: 'canary-pin' },
    })
    expect(await getToolRequest(store(), { ...all, owner: 'test:bob' }, request.id)).toBeUndefined()
  })

  test('that are answered wake their conversation once; the first answer stays', async () => {
    const request = aRequest()
    const { turnId } = await pauseTurn(database(), { requests: [request] })
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((value) =>
        answerToolRequest(store(), all, request.requestId, toSubmittedAnswer({ result: value }), `test:${value}`),
      ),
    )
    expect(answers.filter((each) => each.kind === 'answered' && !each.isDuplicate)).toHaveLength(1)
    const kept = answers.map((each) => JSON.stringify(each.request?.result))
    expect(new Set(kept).size).toBe(1)
    expect(await woken()).toMatchObject([
      {
        id: request.id,
        kind: 'runtime_tool',
        origin: turnId,
        payload: { id: request.id, principal: owner },
        pending: 1,
      },
    ])
  })

  test('that timed out keep that end: a late answer is refused, a late cancel changes nothing', async () => {
    const request = aRequest()
    await pauseTurn(database(), { requests: [request] })
    await database().query(due, [])
    await fireDueTimers(openTenantDb(database(), 'default'), 10)
    expect(await answerToolRequest(store(), all, request.id, opened, owner)).toMatchObject({ reason: 'not_pending' })
    expect(await answerToolRequest(store(), all, request.id, toCancelledAnswer(), owner)).toMatchObject({
      kind: 'answered',
      isDuplicate: true,
      request: { status: 'runtime_tool_timeout', cancelled: false },
    })
    expect(await woken()).toMatchObject([{ kind: 'runtime_tool_timeout' }])
  })

  test('that were answered do not time out, and cannot be cancelled', async () => {
    const request = aRequest()
    await pauseTurn(database(), { requests: [request] })
    await answerToolRequest(store(), all, request.id, opened, owner)
    await database().query(due, [])
    await fireDueTimers(openTenantDb(database(), 'default'), 10)
    expect(await answerToolRequest(store(), all, request.id, toCancelledAnswer(), owner)).toMatchObject({
      isDuplicate: true,
      request: { status: 'runtime_tool_completed', result: { success: true, result: { value: 'open' } } },
    })
    expect(await woken()).toHaveLength(1)
  })

  test('that are cancelled end as timed out, by somebody', async () => {
    const request = aRequest()
    await pauseTurn(database(), { requests: [request] })
    await answerToolRequest(store(), all, request.id, toCancelledAnswer(), owner)
    expect(await loadToolRequest(store(), tenant, request.id)).toMatchObject({
      status: 'runtime_tool_timeout',
      isCancelled: true,
    })
  })

  test('nobody knows are not there', async () => {
    expect(await answerToolRequest(store(), all, 'runtime-tool-unknown', opened, owner)).toMatchObject({
      reason: 'not_found',
    })
  })
})
