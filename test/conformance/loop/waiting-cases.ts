// What a paused run waits for, decided or answered once. On a database: single resolution is a promise of it.

import { readDecision } from '../../../src/agents/approvals/pending-action.ts'
import { toCancelledAnswer, toSubmittedAnswer } from '../../../src/agents/client-tools.ts'
import type { Database } from '../../../src/db/client.ts'
import { getPendingAction, type Resolver, resolvePendingAction } from '../../../src/db/pending-actions.ts'
import { answerToolRequest } from '../../../src/db/tool-requests.ts'
import { anAction, aRequest, owner, pauseTurn, tenant, wakes } from '../../doubles/paused-turn.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'
import { type Case, refusal } from '../conform.ts'

const scope = { tenant, owner: null, conversationId: null }
const alice: Resolver = { name: owner, isOperator: false, scope }
const opened = toSubmittedAnswer({ result: { opened: true } })
const shut = toSubmittedAnswer({ result: { opened: false } })

export function waitingCases(database: () => Database): readonly Case[] {
  const actions = () => openTenantDb(database())
  const requests = () => openTenantDb(database())
  const continuations = async () => (await database().query(wakes, [])).length
  const asked = async () => {
    const request = aRequest()
    await pauseTurn(database(), { requests: [request] })
    return request.id
  }
  const answer = (id: string, how: Parameters<typeof answerToolRequest>[3]) =>
    answerToolRequest(requests(), scope, id, how, owner)
  const told = (answered: Awaited<ReturnType<typeof answer>>) =>
    answered.kind === 'answered'
      ? [answered.isDuplicate, answered.request.status, answered.request.result?.['result'] ?? null]
      : answered.reason
  return [
    {
      id: 'P-16',
      claim: 'an unknown decision is refused before anything is looked up; an unknown action is not there',
      differs: 'routes are scoped to the owner of the token',
      run: async () => [
        await refusal(() => readDecision('maybe')),
        (await resolvePendingAction(actions(), '0192f1c2-7d5e-7abc-8def-0123456789ab', { status: 'accepted' }, alice))
          .kind,
      ],
      equals: ['agents_pending_action_invalid_decision: decision must be accepted or rejected', 'refused'],
    },
    {
      id: 'P-17',
      claim: 'whoever may not decide decides nothing, and nothing is executed',
      run: async () => {
        const action = anAction({ resolvers: 'other' })
        await pauseTurn(database(), { actions: [action] })
        const resolution = await resolvePendingAction(actions(), action.id, { status: 'accepted' }, alice)
        const after = await getPendingAction(actions(), scope, action.id)
        return { resolution, status: after?.status, continuations: await continuations() }
      },
      expected: { resolution: { kind: 'refused', reason: 'not_allowed' }, status: 'pending', continuations: 0 },
    },
    {
      id: 'L-50',
      claim: 'a second result is told the first one, and the run goes on once',
      run: async () => {
        const id = await asked()
        return [told(await answer(id, opened)), told(await answer(id, shut)), await continuations()]
      },
      equals: [
        [false, 'runtime_tool_completed', { opened: true }],
        [true, 'runtime_tool_completed', { opened: true }],
        1,
      ],
    },
    {
      id: 'L-50',
      claim: 'a second end by time or cancel keeps the first, and a result afterwards is refused',
      run: async () => {
        const id = await asked()
        const first = told(await answer(id, toCancelledAnswer()))
        return [
          first,
          told(await answer(id, toCancelledAnswer())),
          told(await answer(id, opened)),
          await continuations(),
        ]
      },
      equals: [[false, 'runtime_tool_timeout', null], [true, 'runtime_tool_timeout', null], 'not_pending', 1],
    },
    {
      id: 'L-50',
      claim: 'of a result and a cancel at the same time one wins, and the run goes on once',
      run: async () => {
        const id = await asked()
        const both = await Promise.all([answer(id, opened), answer(id, toCancelledAnswer())])
        const winners = both.filter((each) => each.kind === 'answered' && !each.isDuplicate)
        return [winners.length, await continuations()]
      },
      equals: [1, 1],
    },
  ]
}
