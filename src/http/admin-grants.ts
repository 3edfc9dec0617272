// What is written down about single people: listed, added, revoked. It counts from the next decision on, in every replica.
import type { Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { grantRoles } from '../identity/access/grant-store.ts'
import type { AppDeps } from './deps.ts'
import { jsonBody } from './json-body.ts'
import { actorIn } from './note-act.ts'
import { choiceOf, idOf, idPageOf, nextOf } from './query.ts'

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

/** As evidence names them: no spaces, nothing that cannot be seen. */
export const subjectSchema = z.string().regex(/^[^\s\p{C}]{1,500}$/u)
const name = z.string().min(1).max(200).nullable().default(null)

const wishSchema = z
  .strictObject({
    subject: subjectSchema,
    effect: z.enum(['allow', 'deny']).default('allow'),
    role: z.enum(grantRoles).nullable().default(null),
    connection: name,
    agent: name,
    workspaceId: name,
    expiresInMs: z.number().int().positive().max(maxLifeMs).nullable().default(null),
  })
  .refine(({ effect, role }) => effect === 'allow' || role === null, { path: ['role'] })
export const grantBody = {
  schema: wishSchema,
  maxBytes: 4096,
  remedy:
    'send {"subject": "chat:42"} as JSON; optional are "effect" (allow, deny), "role" (viewer, operator, admin; not with deny), "connection", "agent", "workspaceId", "expiresInMs"',
} as const

export function addGrantRoutes(
  app: Hono,
  { gateway, wake, agents }: Pick<AppDeps, 'gateway' | 'wake' | 'agents'>,
): void {
  app.get('/admin/grants', async (context) => {
    const page = idPageOf(context)
    const { subject = null } = context.req.query()
    const state = choiceOf(context, 'state', ['active', 'all'])
    const found = await gateway.people.grants.list({ ...page, subject, isEverything: state === 'all' })
    return context.json({ grants: found, next: nextOf(found, page.limit, (each) => each.id) })
  })
  app.post('/admin/grants', async (context) => {
    const wish = await jsonBody(context, grantBody)
    requireKnown(
      'connection',
      wish.connection,
      gateway.connections.map(({ key }) => key),
    )
    requireKnown(
      'agent',
      wish.agent,
      agents.map(({ slug }) => slug),
    )
    // Everything here belongs to the tenant's own workspace: a grant for another one would never count.
    requireKnown('workspaceId', wish.workspaceId, [gateway.waits.tenant])
    const added = await gateway.people.grants.add({ ...wish, createdBy: actorIn(context) })
    wake()
    return context.json(added)
  })
  app.post('/admin/grants/:id/revoke', async (context) => {
    const outcome = await gateway.people.grants.revoke(idOf(context), actorIn(context))
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
function requireKnown(what: string, given: string | null, known: readonly string[]): void {
  if (given === null || known.includes(given)) return
  throw new GatewayError('bad_request', `${what} must be one of: ${known.join(', ')}`)
}
