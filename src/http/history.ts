// GET /api/v1/agent/history (seed 002, ruling 52): what was said in a thread of the caller's own, with fresh URLs.
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { linesWithMetadata, messagesWithParts } from './history-view.ts'
import { identified } from './identified.ts'
import { choiceOf, limitOf } from './query.ts'

const maxLines = 200
const maxIdLength = 512

type Deps = Parameters<typeof identified>[0] & Pick<AppDeps, 'files' | 'threads' | 'agents' | 'gateway'>

export function addHistoryRoute(app: Hono, deps: Deps): void {
  app.get('/api/v1/agent/history', async (context) => {
    const caller = await identified(deps, context)
    if (caller instanceof Response) return caller
    const lines = await deps.threads.read({
      connection: caller.at.key,
      agents: deps.agents.map(({ slug }) => slug),
      subject: caller.subject,
      threadId: named(context, 'threadId') ?? '',
      before: named(context, 'before') ?? null,
      limit: limitOf(context, maxLines),
    })
    if (lines === undefined)
      throw new GatewayError('not_found', 'no such thread of yours; give the threadId you talked to the agent with')
    const format = choiceOf(context, 'format', ['parts', 'metadata']) ?? 'parts'
    const messages =
      format === 'metadata' ? linesWithMetadata(lines) : await messagesWithParts(deps.files, caller, lines)
    return context.json({ messages }, { headers: { 'cache-control': 'private, no-store' } })
  })
}

function named(context: Context, name: 'threadId' | 'before'): string | undefined {
  const given = context.req.query(name)?.trim()
  if (name === 'threadId' ? !given : given === '') throw new GatewayError('bad_request', `${name} is missing or empty`)
  if ((given?.length ?? 0) > maxIdLength) throw new GatewayError('bad_request', `${name} is too long`)
  return given
}
