// GET /admin/audit, who decided what and why, and GET /admin/rejected. Read-only: there is no route that changes a line.
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { AuditFilter, AuditPage } from '../db/audit.ts'
import type { AppDeps } from './deps.ts'
import { idPattern, limitParam, wholeNumberParam } from './request-input.ts'

const filterNames = ['connection', 'agent', 'actor', 'action', 'outcome', 'code'] as const

export function addAuditRoutes(
  app: Hono,
  { audit, findWeakSettings }: Pick<AppDeps, 'audit' | 'findWeakSettings'>,
): void {
  app.get('/admin/audit', async (context) =>
    context.json(await audit.list(readAuditFilter(context), readAuditPage(context))),
  )
  app.get('/admin/audit/config', async (context) => {
    if (findWeakSettings === undefined)
      throw new GatewayError('not_found', 'settings are checked where they are kept: parley audit config --files')
    return context.json({ findings: await findWeakSettings() })
  })
}

function readAuditFilter(context: Context): AuditFilter {
  const { principal, inbox, since, until } = context.req.query()
  if (inbox !== undefined && !idPattern.test(inbox))
    throw new GatewayError('bad_request', 'inbox must be the id of a message, a UUID as the lists show it')
  return {
    ...Object.fromEntries(filterNames.map((word) => [word, context.req.query(word)])),
    subject: principal,
    inboxId: inbox,
    since: readInstantParam('since', since),
    until: readInstantParam('until', until),
  }
}

function readAuditPage(context: Context): AuditPage {
  const { before, after } = context.req.query()
  if (before !== undefined && after !== undefined)
    throw new GatewayError('bad_request', 'give before or after, not both: the log is read in one direction at a time')
  return {
    limit: limitParam(context),
    before: before === undefined ? undefined : wholeNumberParam('before', before, Number.MAX_SAFE_INTEGER),
    after: after === undefined ? undefined : readAfterLine(after),
  }
}

/** Zero is before the first line. */
function readAfterLine(text: string): number {
  return text === '0' ? 0 : wholeNumberParam('after', text, Number.MAX_SAFE_INTEGER)
}

function readInstantParam(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const at = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new GatewayError('bad_request', `${name} must be a time such as 2026-01-31 or 2026-01-31T08:00:00Z`)
  return new Date(at).toISOString()
}

// GET /admin/rejected: what this process rejected lately, and why. Counts of all of it are in the metrics.

export function addRejectedRoute(app: Hono, { rejections }: Pick<AppDeps, 'rejections'>): void {
  app.get('/admin/rejected', (context) => {
    const { connection, trace } = context.req.query()
    return context.json({ rejected: rejections.list({ limit: limitParam(context), connection, trace }) })
  })
}
