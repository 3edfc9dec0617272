// Authenticating a token, and one verdict on every way to an agent.

import type { Database } from '../../../src/db/client.ts'
import { createCallerService } from '../../../src/identity/callers.ts'
import { bearerPrincipal, conversationOwner } from '../../../src/identity/principals.ts'
import { hopHeaders, startApi } from '../../doubles/api.ts'
import { madeToken, tokenDeps } from '../../doubles/tokens.ts'
import type { Case } from '../conform.ts'

export function tokenCases(database: () => Database): readonly Case[] {
  const desk = () => createCallerService({ ...tokenDeps(database()), isShared: false })
  const wasUsed = async () => (await tokenDeps(database()).tokens.list()).some(({ lastUsedAt }) => lastUsedAt !== null)
  return [
    {
      id: 'I-06',
      claim: 'a token is authenticated and touched; with another prefix or a bad caller header it is neither',
      run: async () => {
        const { clear, line } = await madeToken(database(), { scopes: ['run'] })
        const seen = async (authorization: string, headers: Readonly<Record<string, string>> = {}) => {
          const { kind } = await desk().identify({ authorization, ...headers }, 'demo')
          return [kind, await wasUsed()]
        }
        const other = await seen(`Bearer ${clear.replace('parley_', 'other_')}`)
        const malformed = await seen(`Bearer ${clear}`, hopHeaders({ 'x-agents-api-chain-depth': 'abc' }))
        const good = await seen(`Bearer ${clear}`, hopHeaders())
        const api = startApi(database())
        const { status } = await api.run('r1', { token: clear, headers: hopHeaders() })
        const evidence = api.heard[0]?.sender.identities?.[0]
        await api.stop()
        const principal = evidence && bearerPrincipal(evidence, 'demo')
        const owner = principal && conversationOwner(principal)
        return {
          other,
          malformed,
          good,
          status,
          isItsOwn: owner?.key === line.id.slice(-8),
          depth: api.heard[0]?.channel?.caller?.chain_depth,
        }
      },
      equals: {
        other: ['rejected', false],
        malformed: ['unreadable', false],
        good: ['identified', true],
        status: 200,
        isItsOwn: true,
        depth: 1,
      },
    },
    {
      id: 'I-12',
      claim: 'one verdict for a token: asked as a function, from elsewhere, from this machine, for a stream',
      run: async () => {
        const api = startApi(database())
        const terms = {
          admin: { scopes: ['admin'] },
          run: { scopes: ['run'] },
          'run for this agent': { scopes: ['run'], agent: 'demo' },
          'run for another agent': { scopes: ['run'], agent: 'other' },
          'admin for somebody': { scopes: ['admin'], principal: 'test:ada' },
          read: { scopes: ['read'] },
          own: { scopes: ['own'], principal: 'test:ada' },
        } as const
        const verdicts: Record<string, unknown> = {}
        for (const [name, each] of Object.entries(terms)) {
          const { clear: token } = await madeToken(database(), each)
          const verdict = await desk().identify({ authorization: `Bearer ${token}` }, 'demo')
          const direct = verdict.kind === 'rejected' ? verdict.reason : verdict.kind
          const attested = JSON.stringify({
            threadId: name,
            runId: name,
            messages: [{ id: 'm', role: 'user', content: 'hi' }],
            principal: { auth_source: 'user', acting_user_id: 1 },
            forwardedProps: { scopes: ['admin'] },
          })
          const over = [
            await api.run(name, { token, threadId: name, body: attested }),
            await api.run(`${name} here`, { token, threadId: name, isHere: true }),
            await api.run(`${name} sse`, { token, threadId: name, headers: { accept: 'text/event-stream' } }),
          ].map(({ status, body }) => (status === 200 ? 'identified' : body.error.code))
          verdicts[name] = over.every((each) => each === direct) ? direct : { direct, over }
        }
        await api.stop()
        return verdicts
      },
      equals: {
        admin: 'identified',
        run: 'identified',
        'run for this agent': 'identified',
        'run for another agent': 'wrong_agent',
        'admin for somebody': 'insufficient_scope',
        read: 'insufficient_scope',
        own: 'insufficient_scope',
      },
    },
  ]
}
