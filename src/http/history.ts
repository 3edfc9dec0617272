// GET /api/v1/agent/history: what was said in a thread of the caller's own, with fresh URLs.
import type { Hono } from 'hono'
import * as z from 'zod'
import { callerId, GatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { linesWithMetadata, messagesWithParts } from './history-view.ts'
import { identifyApiCaller } from './identified.ts'
import { readQueryParams } from './openapi/operation.ts'

const maxLines = 200
const callerNameSchema = callerId()

export const historyQuery = z.object({
  threadId: callerNameSchema.meta({ description: 'As it was given to the run route' }),
  before: callerNameSchema.optional().meta({ description: 'The id of a message: only what was said before it' }),
  limit: z.coerce.number().int().min(1).max(maxLines).default(50),
  format: z
    .enum(['parts', 'metadata'])
    .default('parts')
    .meta({ description: 'metadata: text and metadata, without URLs' }),
})

type Deps = Parameters<typeof identifyApiCaller>[0] & Pick<AppDeps, 'files' | 'threads' | 'agents' | 'gateway'>

export function addHistoryRoute(app: Hono, deps: Deps): void {
  app.get('/api/v1/agent/history', async (context) => {
    const caller = await identifyApiCaller(deps, context)
    if (caller instanceof Response) return caller
    const { threadId, before = null, limit, format } = readQueryParams(context, { query: historyQuery })
    const lines = await deps.threads.read({
      connection: caller.at.key,
      agents: deps.agents.map(({ slug }) => slug),
      subject: caller.subject,
      threadId,
      before,
      limit,
    })
    if (lines === undefined)
      throw new GatewayError('not_found', 'no such thread of yours; give the threadId you talked to the agent with')
    const messages =
      format === 'metadata' ? linesWithMetadata(lines) : await messagesWithParts(deps.files, caller, lines)
    return context.json({ messages }, { headers: { 'cache-control': 'private, no-store' } })
  })
}
