// People: every subject a decision was made about, their grants, which subjects are one person, and the erasure of a person.

import * as z from 'zod'
import type { ErasedCounts } from '../db/erase-person.ts'
import { addGrant, type GrantLine, grantRoles, listGrants, revokeGrant } from '../db/grants.ts'
import type { PrincipalLine } from '../db/principals.ts'
import { linkIdentity, listIdentityLinks, listPrincipals, unlinkIdentity } from '../db/principals.ts'
import { countPersonData, erasePerson } from '../identity/erase.ts'
import { GatewayError } from '../lib/errors.ts'
import { actorName } from './admin-access.ts'
import { exampleId, formatInstant, type ResourceCommands } from './command.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  done,
  doneSchema,
  idPageQuerySchema,
  idPattern,
  instantSchema,
  nextId,
} from './resource.ts'

// A grant counts from the next decision on, in every replica.

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

/** As evidence names them: no spaces, nothing that cannot be seen. */
const subjectSchema = z
  .string()
  .regex(/^[^\s\p{C}]{1,500}$/u, 'must be 1 to 500 visible characters without spaces, such as chat:42')
const nameSchema = z.string().min(1).max(200).nullable().default(null)

const grantSchema = z
  .object({
    id: z.uuid(),
    subject: z.string(),
    effect: z.enum(['allow', 'deny']),
    role: z.enum(grantRoles).nullable().meta({ description: 'null: they may speak' }),
    connection: z.string().nullable().meta({ description: 'null: everywhere' }),
    agent: z.string().nullable(),
    workspaceId: z.string().nullable(),
    source: z.string().meta({ description: 'operator, or pairing' }),
    state: z.enum(['active', 'expired', 'revoked']),
    createdBy: z.string(),
    createdAt: instantSchema,
    expiresAt: instantSchema.nullable(),
    revokedBy: z.string().nullable(),
    revokedAt: instantSchema.nullable(),
  })
  .meta({ id: 'Grant', description: 'What an operator allowed or denied one person' })

const heldMessages = z.number().int().meta({ description: 'How many of their messages go on, or end, with it' })

export const grants = defineResource({
  name: 'grants',
  tag: 'Operator: people',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/grants',
      id: 'listGrants',
      summary: 'Lists what is written down about people',
      scopes: ['admin', 'read'],
      query: idPageQuerySchema().extend({
        subject: z.string().optional().meta({ description: 'Only about this one' }),
        state: z.enum(['active', 'all']).default('active').meta({ description: 'all: also what is over' }),
      }),
      output: z.object({ grants: z.array(grantSchema), next: nextId }),
      async handle({ deps, query: { limit, before = null, subject = null, state } }) {
        const filter = { limit, before, subject, isEverything: state === 'all' }
        const found = await listGrants(deps.gateway.db, filter)
        return { grants: found, next: createNextPageMark(found, limit, (each) => each.id) }
      },
    }),
    add: defineOperation({
      method: 'post',
      path: '/admin/grants',
      id: 'addGrant',
      summary: 'Lets a person in, or keeps them out',
      body: {
        schema: z
          .strictObject({
            subject: subjectSchema.meta({ description: 'Who, as evidence names them, such as chat:42' }),
            effect: z.enum(['allow', 'deny']).default('allow'),
            role: z.enum(grantRoles).nullable().default(null).meta({
              description: 'viewer may not speak; operator and admin may stop runs and decide; admin may let people in',
            }),
            connection: nameSchema.meta({ description: 'Only there, as parley stats names it' }),
            agent: nameSchema.meta({ description: 'Only with this agent' }),
            workspaceId: nameSchema.meta({
              description: 'Only in this workspace; there is one, named after the tenant',
            }),
            expiresInMs: z.number().int().positive().max(maxLifeMs).nullable().default(null).meta({
              description: 'For so long; null: for ever',
            }),
          })
          .refine(({ effect, role }) => effect === 'allow' || role === null, { path: ['role'] }),
        maxBytes: 4096,
        remedy:
          'send {"subject": "chat:42"} as JSON; optional are "effect" (allow, deny), "role" (viewer, operator, admin; not with deny), "connection", "agent", "workspaceId", "expiresInMs"',
        example: { subject: 'chat:42', effect: 'allow' },
      },
      returns: 'The grant, and how many messages it decided about',
      output: z.object({ grant: grantSchema, messages: heldMessages }),
      async handle({ deps: { gateway, agents, wake }, context, body }) {
        const { connection, agent, workspaceId } = body
        const connections = gateway.connections.map(({ key }) => key)
        requireConfiguredName('connection', connection, connections)
        const slugs = agents.map(({ slug }) => slug)
        requireConfiguredName('agent', agent, slugs)
        // Everything here belongs to the tenant's own workspace: a grant for another one would never count.
        requireConfiguredName('workspaceId', workspaceId, [gateway.db.tenant])
        const added = await addGrant(gateway.db, { ...body, createdBy: actorName(context) })
        wake()
        return added
      },
    }),
    revoke: defineOperation({
      method: 'post',
      path: '/admin/grants/:id/revoke',
      id: 'revokeGrant',
      summary: 'Takes a grant back',
      output: z.object({ grant: grantSchema }),
      problems: [404, 409],
      async handle({ deps, context, params }) {
        const outcome = await revokeGrant(deps.gateway.db, params.id, actorName(context))
        switch (outcome.kind) {
          case 'revoked':
            return { grant: outcome.grant }
          case 'late': {
            const { revokedBy, revokedAt } = outcome.grant
            throw new GatewayError('conflict', `already revoked by ${revokedBy} at ${revokedAt}; nothing is left to do`)
          }
          case 'unknown':
            throw new GatewayError('not_found', 'no such grant; list them with GET /admin/grants')
        }
      },
    }),
  },
})

/** A grant for a place that does not exist would never count, and no operator would notice. */
function requireConfiguredName(what: string, given: string | null, known: readonly string[]): void {
  if (given === null || known.includes(given)) return
  throw new GatewayError('bad_request', `${what} must be one of: ${known.join(', ')}`)
}

const grantFlags = {
  connection: { valueHint: 'channel/id' },
  agent: { valueHint: 'slug' },
  workspaceId: { flag: 'workspace', valueHint: 'id' },
  expiresInMs: {
    flag: 'expires',
    as: 'duration',
    valueHint: 'time',
    description: 'For so long: 45m, 12h, 30d, 8w (default: for ever)',
  },
  effect: false,
} as const

export const grantsCommands = () =>
  ({
    description: 'Who was let in or shut out by name, and what they may do.',
    examples: ['parley grants add chat:42 --role admin', 'parley grants block chat:666'],
    commands: {
      list: {
        name: 'list',
        description: 'List grants that count now, newest first.',
        examples: ['parley grants list', 'parley grants list --subject chat:42 --state all'],
        flags: { subject: { valueHint: 'subject' } },
        rows: 'grants',
        columns: {
          ID: 'id',
          WHO: 'subject',
          EFFECT: 'effect',
          ROLE: 'role',
          CONNECTION: 'connection',
          AGENT: 'agent',
          STATE: 'state',
          BY: ({ createdBy, source }) => `${createdBy} (${source})`,
          EXPIRES: 'expiresAt',
        },
        empty: 'None.',
      },
      add: [
        {
          name: 'add',
          description:
            'Let a person in by name, with a role if they are to have one. Messages held for them are answered.',
          examples: ['parley grants add chat:42', 'parley grants add chat:42 --role admin --agent demo --expires 30d'],
          words: ['subject'],
          flags: grantFlags,
          fixed: { effect: 'allow' },
          text: ({ grant, messages }) =>
            `Granted: ${grantText(grant)}.${releasedMessagesText(messages)} Revoke it with: parley grants revoke ${grant.id}`,
        },
        {
          name: 'block',
          description: 'Block a person, whatever else lets them in.',
          examples: ['parley grants block chat:666', 'parley grants block chat:666 --connection chat/default'],
          words: ['subject'],
          flags: { ...grantFlags, role: false, workspaceId: false },
          fixed: { effect: 'deny' },
          text: ({ grant }) => `Blocked: ${grantText(grant)}. Undo it with: parley grants unblock ${grant.subject}`,
        },
      ],
      revoke: {
        name: 'revoke',
        description: 'Take a grant back; it counts from the next decision on, in every replica.',
        examples: [`parley grants revoke ${exampleId}`],
        about: { id: 'Id of a grant, as the list shows it' },
        text: ({ grant }) => `Revoked: ${grantText(grant)}.`,
      },
    },
  }) as const satisfies ResourceCommands<typeof grants>

export function grantText({ subject, role, connection, agent, expiresAt }: GrantLine): string {
  const as = role === null ? '' : ` as ${role}`
  const where = connection === null ? '' : ` on ${connection}`
  const to = agent === null ? '' : ` with the agent ${agent}`
  const until = expiresAt === null ? '' : ` until ${formatInstant(expiresAt)}`
  return `${subject}${as}${where}${to}${until}`
}

function releasedMessagesText(messages: number): string {
  if (messages === 0) return ''
  return messages === 1 ? ' 1 message that was held goes on.' : ` ${messages} messages that were held go on.`
}

const principalSchema = z
  .object({
    id: z.uuid(),
    subject: z.string(),
    createdAt: instantSchema,
    lastDecision: z
      .object({
        at: instantSchema,
        action: z.string(),
        outcome: z.string(),
        code: z.string().nullable(),
        rule: z.string().nullable(),
        connection: z.string().nullable(),
      })
      .nullable(),
    grants: z
      .array(
        z.object({
          id: z.uuid(),
          effect: z.enum(['allow', 'deny']),
          role: z.string().nullable(),
          connection: z.string().nullable(),
          agent: z.string().nullable(),
        }),
      )
      .meta({ description: 'Those that count now' }),
    linkedTo: z.string().nullable().meta({ description: 'Whom they act as; null: themselves' }),
    linkedFrom: z.array(z.string()).meta({ description: 'Subjects that act as them' }),
  })
  .meta({ id: 'Principal', description: 'A person a decision was made about' })

const linkSchema = z.object({
  subject: z.string(),
  principal: z.string(),
  createdBy: z.string(),
  createdAt: instantSchema,
})

const oneSubject = subjectSchema.meta({ description: 'One of their subjects, such as space:T1/U2' })

export const principals = defineResource({
  name: 'principals',
  tag: 'Operator: people',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/principals',
      id: 'listPrincipals',
      summary: 'Lists people',
      scopes: ['admin', 'read'],
      query: idPageQuerySchema(),
      output: z.object({ principals: z.array(principalSchema), next: nextId }),
      async handle({ deps, query: { limit, before = null } }) {
        const found = await listPrincipals(deps.gateway.db, { limit, before })
        return { principals: found, next: createNextPageMark(found, limit, (each) => each.id) }
      },
    }),
    links: defineOperation({
      method: 'get',
      path: '/admin/principals/links',
      id: 'listLinks',
      summary: 'Who acts as whom',
      scopes: ['admin', 'read'],
      output: z.object({ links: z.array(linkSchema) }),
      handle: async ({ deps }) => ({ links: await listIdentityLinks(deps.gateway.db) }),
    }),
    link: defineOperation({
      method: 'post',
      path: '/admin/principals/link',
      id: 'linkPrincipals',
      summary: 'Says that two subjects are one person',
      body: {
        schema: z.strictObject({
          subject: oneSubject,
          principal: subjectSchema.meta({ description: 'The main subject of that person' }),
        }),
        maxBytes: 2048,
        remedy: 'send {"subject": "space:T1/U2", "principal": "chat:42"} as JSON',
        example: { subject: 'space:T1/U2', principal: 'chat:42' },
      },
      output: z.object({ link: linkSchema, messages: heldMessages }),
      problems: [409],
      async handle({ deps, context, body: { subject, principal } }) {
        if (subject === principal)
          throw new GatewayError('bad_request', 'subject and principal are the same; name two subjects of one person')
        const outcome = await linkIdentity(deps.gateway.db, subject, principal, actorName(context))
        deps.wake()
        switch (outcome.kind) {
          case 'linked':
            return { link: outcome.link, messages: outcome.messages }
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
      },
    }),
    unlink: defineOperation({
      method: 'post',
      path: '/admin/principals/unlink',
      id: 'unlinkPrincipal',
      summary: 'Takes that back',
      body: {
        schema: z.strictObject({ subject: oneSubject }),
        maxBytes: 2048,
        remedy: 'send {"subject": "space:T1/U2"} as JSON',
        example: { subject: 'space:T1/U2' },
      },
      output: doneSchema,
      problems: [404],
      async handle({ deps, context, body: { subject } }) {
        if (await unlinkIdentity(deps.gateway.db, subject, actorName(context))) return done
        throw new GatewayError(
          'not_found',
          'this subject is linked to no principal; list links with GET /admin/principals/links',
        )
      },
    }),
  },
})

export const principalsCommands = () =>
  ({
    description: 'People a decision was made about, and which of them are one person.',
    examples: ['parley principals list', 'parley principals link space:T1/U2 chat:42'],
    commands: {
      list: {
        name: 'list',
        description: 'List every person a decision was made about: the last one, grants, and whom they act as.',
        examples: ['parley principals list', 'parley principals list --json'],
        rows: 'principals',
        columns: {
          WHO: 'subject',
          'ACTS AS': 'linkedTo',
          GRANTS: (line) => line.grants.map(shortGrantText).join(', ') || '-',
          'LAST DECISION': ({ lastDecision }) => lastDecision && lastDecisionText(lastDecision),
          AT: ({ lastDecision }) => formatInstant(lastDecision?.at ?? null),
          ID: 'id',
        },
        empty: 'No people yet.',
      },
      links: {
        name: 'links',
        description: 'List which subjects act as which person.',
        examples: ['parley principals links'],
        rows: 'links',
        columns: { WHO: 'subject', 'ACTS AS': 'principal', BY: 'createdBy', SINCE: 'createdAt' },
        empty: 'No links.',
      },
      link: {
        name: 'link',
        description: 'Say that two subjects are one person: a sender verified as the first acts as the second.',
        examples: ['parley principals link space:T1/U2 chat:42'],
        words: ['subject', 'principal'],
        text: ({ link }) => `Linked: ${link.subject} acts as ${link.principal} from now on.`,
      },
      unlink: {
        name: 'unlink',
        description: 'Take a link back: from the next decision on they are two people again.',
        examples: ['parley principals unlink space:T1/U2'],
        words: ['subject'],
        text: (_, { args }) => `Unlinked: ${args['subject']}.`,
      },
    },
  }) as const satisfies ResourceCommands<typeof principals>

function shortGrantText({ effect, role, connection, agent }: PrincipalLine['grants'][number]): string {
  const what = effect === 'deny' ? 'blocked' : (role ?? 'may speak')
  const where = [connection, agent].filter((each) => each !== null).join(' ')
  return where === '' ? what : `${what} (${where})`
}

function lastDecisionText({ action, outcome, code }: NonNullable<PrincipalLine['lastDecision']>): string {
  return `${action} ${outcome}${code === null ? '' : ` (${code})`}`
}

// Erasing a person's data, a bounded piece per request. It cannot be undone, so it says what it does.

/** Well under what a proxy or a caller waits for. */
const budgetMs = 10_000

const count = z.number().int()
const erasedSchema = z
  .object({
    receipts: count.meta({ description: 'Messages whose receipt was emptied' }),
    inFlight: count.meta({ description: 'Of these, those that were still waiting or being answered' }),
    lines: count.meta({ description: 'Lines of transcripts' }),
    ambientContext: count.meta({ description: 'What rooms remembered of theirs' }),
    conversations: count,
    sharedConversations: count.meta({ description: 'Those that go on without them' }),
    sessions: count,
    turns: count,
    calls: count.meta({ description: 'Calls to platforms whose content was emptied' }),
    unsent: count.meta({ description: 'Calls that had not left yet' }),
    waits: count.meta({ description: 'Approvals and tool requests' }),
    timers: count,
    attachments: count.meta({ description: 'Files; their bytes go with the next sweep' }),
    grants: count,
    pairings: count,
    tokens: count,
    consents: count,
    tombstones: count,
    chains: count,
    records: count.meta({ description: 'What channels knew of them' }),
    links: count,
    principals: count,
  })
  .meta({ id: 'ErasedCounts' })
erasedSchema satisfies z.ZodType<ErasedCounts>

const cursorSchema = z.strictObject({
  phase: z.enum(['conversations', 'receipts', 'strays']),
  after: z.string().regex(idPattern).nullable(),
})

export const erasure = defineResource({
  name: 'erase',
  tag: 'Operator: people',
  audience: 'operator',
  operations: {
    erase: defineOperation({
      method: 'post',
      path: '/admin/erase',
      id: 'erasePerson',
      summary: 'Erases what is known of a person, a piece per request',
      body: {
        schema: z
          .strictObject({
            principal: z.string().trim().min(1).max(500),
            dryRun: z.boolean().default(false).meta({ description: 'Counts, and changes nothing' }),
            confirm: z.literal(true).optional().meta({ description: 'Said by an operator who means it' }),
            from: cursorSchema.nullable().default(null).meta({ description: 'The next of the piece before' }),
          })
          .refine(({ dryRun, confirm }) => dryRun || confirm === true, { path: ['confirm'] }),
        maxBytes: 4096,
        remedy: 'send {"principal": "…", "dryRun": true} to count, {"principal": "…", "confirm": true} to erase',
        example: { principal: 'chat:42', dryRun: true },
      },
      returns: 'What was removed, and where to go on',
      output: z.object({ isDone: z.boolean(), removed: erasedSchema, next: cursorSchema.nullable() }),
      async handle({ deps, context, body: { principal, dryRun, from } }) {
        const store = deps.forget
        if (dryRun) return { isDone: false, removed: await countPersonData({ store }, principal), next: null }
        const wish = { principal, from, budgetMs, actor: actorName(context) }
        const erased = await erasePerson({ store, monotonicMs: deps.now }, wish)
        const rows = Object.values(erased.removed).reduce((sum, each) => sum + each, 0)
        deps.log.info('person_erased', { outcome: erased.isDone ? 'done' : 'begun', rows })
        deps.wake()
        return erased
      },
    }),
  },
})
