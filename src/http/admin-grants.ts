// What is written down about single people: listed, added, revoked. It counts from the next decision on, in every replica.
import type { Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { grantRoles } from '../db/grants.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './json-body.ts'
import { actorName } from './note-act.ts'
import { choiceParam, idParam, nextPageMark, readIdPage } from './query.ts'

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

/** As evidence names them: no spaces, nothing that cannot be seen. */
export const subjectSchema = z.string().regex(/^[^\s\p{C}]{1,500}$/u)
const nameSchema = z.string().min(1).max(200).nullable().default(null)

const grantRequestSchema = z
  .strictObject({
    subject: subjectSchema,
    effect: z.enum(['allow', 'deny']).default('allow'),
    role: z.enum(grantRoles).nullable().default(null),
    connection: nameSchema,
    agent: nameSchema,
    workspaceId: nameSchema,
    expiresInMs: z.number().int().positive().max(maxLifeMs).nullable().default(null),
  })
  .refine(({ effect, role }) => effect === 'allow' || role === null, { path: ['role'] })
export const grantBody = {
  schema: grantRequestSchema,
  maxBytes: 4096,
  remedy:
    'send {"subject": "chat:42"} as JSON; optional are "effect" (allow, deny), "role" (viewer, operator, admin; not with deny), "connection", "agent", "workspaceId", "expiresInMs"',
} as const

export function addGrantRoutes(
  app: Hono,
  { gateway, wake, agents }: Pick<AppDeps, 'gateway' | 'wake' | 'agents'>,
): void {
  app.get('/admin/grants', async (context) => {
    const page = readIdPage(context)
    const { subject = null } = context.req.query()
    const state = choiceParam(context, 'state', ['active', 'all'])
    const found = await gateway.people.grants.list({ ...page, subject, isEverything: state === 'all' })
    return context.json({ grants: found, next: nextPageMark(found, page.limit, (each) => each.id) })
  })
  app.post('/admin/grants', async (context) => {
    const wish = await readJsonRequest(context, grantBody)
    requireConfigured(
      'connection',
      wish.connection,
      gateway.connections.map(({ key }) => key),
    )
    requireConfigured(
      'agent',
      wish.agent,
      agents.map(({ slug }) => slug),
    )
    // Everything here belongs to the tenant's own workspace: a grant for another one would never count.
    requireConfigured('workspaceId', wish.workspaceId, [gateway.waits.tenant])
    const added = await gateway.people.grants.add({ ...wish, createdBy: actorName(context) })
    wake()
    return context.json(added)
  })
  app.post('/admin/grants/:id/revoke', async (context) => {
    const outcome = await gateway.people.grants.revoke(idParam(context), actorName(context))
    switch (outcome.kind) {
      case 'revoked':
        return context.json({ grant: outcome.grant })
      case 'late': {
        const { revokedBy, revokedAt } = outcome.grant
        throw new GatewayError('conflict', `already revoked by ${revokedBy} at ${revokedAt}; nothing is left to do`)
      }
      case 'unknown':
        throw new GatewayError('not_found', 'no such grant; list them with GET /admin/grants')
    }
  })
}

/** A grant for a place that does not exist would never count, and no operator would notice. */
function requireConfigured(what: string, given: string | null, known: readonly string[]): void {
  if (given === null || known.includes(given)) return
  throw new GatewayError('bad_request', `${what} must be one of: ${known.join(', ')}`)
}
