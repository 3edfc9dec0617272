// People over HTTP: every subject a decision was made about, which of them are one person, their grants, and their erasure.
import type { Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { grantRoles } from '../db/grants.ts'
import { countPersonData, erasePerson } from '../identity/erase.ts'
import { actorName } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { choiceParam, idParam, idPattern, nextPageMark, readIdPage, readJsonRequest } from './request-input.ts'

// A grant counts from the next decision on, in every replica.

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

/** As evidence names them: no spaces, nothing that cannot be seen. */
const subjectSchema = z.string().regex(/^[^\s\p{C}]{1,500}$/u)
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

export const linkBody = {
  schema: z.strictObject({ subject: subjectSchema, principal: subjectSchema }),
  maxBytes: 2048,
  remedy: 'send {"subject": "space:T1/U2", "principal": "chat:42"} as JSON',
} as const
export const unlinkBody = {
  schema: z.strictObject({ subject: subjectSchema }),
  maxBytes: 2048,
  remedy: 'send {"subject": "space:T1/U2"} as JSON',
} as const

export function addPrincipalRoutes(app: Hono, { gateway, wake }: Pick<AppDeps, 'gateway' | 'wake'>): void {
  app.get('/admin/principals', async (context) => {
    const page = readIdPage(context)
    const found = await gateway.people.principals.list(page)
    return context.json({ principals: found, next: nextPageMark(found, page.limit, (each) => each.id) })
  })
  app.get('/admin/principals/links', async (context) =>
    context.json({ links: await gateway.people.principals.links() }),
  )
  app.post('/admin/principals/link', async (context) => {
    const { subject, principal } = await readJsonRequest(context, linkBody)
    if (subject === principal)
      throw new GatewayError('bad_request', 'subject and principal are the same; name two subjects of one person')
    const outcome = await gateway.people.principals.link(subject, principal, actorName(context))
    wake()
    switch (outcome.kind) {
      case 'linked':
        return context.json({ link: outcome.link, messages: outcome.messages })
      case 'linked_already':
        throw new GatewayError(
          'conflict',
          `already linked to ${outcome.link.principal} by ${outcome.link.createdBy}; unlink it first to change that`,
        )
      case 'chain':
        throw new GatewayError(
          'conflict',
          'one of the two is linked the other way round already; link every subject of a person to the same main one',
        )
    }
  })
  app.post('/admin/principals/unlink', async (context) => {
    const { subject } = await readJsonRequest(context, unlinkBody)
    if (await gateway.people.principals.unlink(subject, actorName(context))) return context.json({ ok: true })
    throw new GatewayError(
      'not_found',
      'this subject is linked to no principal; list links with GET /admin/principals/links',
    )
  })
}

// POST /admin/forget erases one person's data, a bounded piece per request. It cannot be undone, so it says what it does.

/** Well under what a proxy or a caller waits for. */
const budgetMs = 10_000

const eraseSchema = z
  .strictObject({
    principal: z.string().trim().min(1).max(500),
    /** Counts, and changes nothing. */
    dryRun: z.boolean().default(false),
    /** Said by an operator who means it. */
    confirm: z.literal(true).optional(),
    from: z
      .strictObject({ phase: z.enum(['conversations', 'receipts']), after: z.string().regex(idPattern).nullable() })
      .nullable()
      .default(null),
  })
  .refine(({ dryRun, confirm }) => dryRun || confirm === true, { path: ['confirm'] })

export const eraseBody = {
  schema: eraseSchema,
  maxBytes: 4096,
  remedy: 'send {"principal": "…", "dryRun": true} to count, {"principal": "…", "confirm": true} to erase',
} as const

export function addEraseRoute(app: Hono, deps: Pick<AppDeps, 'forget' | 'now' | 'log' | 'wake'>): void {
  app.post('/admin/erase', async (context) => {
    const { principal, dryRun, from } = await readJsonRequest(context, eraseBody)
    const store = deps.forget
    if (dryRun) return context.json({ isDone: false, removed: await countPersonData({ store }, principal), next: null })
    const wish = { principal, from, budgetMs, actor: actorName(context) }
    const forgotten = await erasePerson({ store, monotonicMs: deps.now }, wish)
    const rows = Object.values(forgotten.removed).reduce((sum, count) => sum + count, 0)
    deps.log.info('person_erased', { outcome: forgotten.isDone ? 'done' : 'begun', rows })
    deps.wake()
    return context.json(forgotten)
  })
}
