// Sessions: an operator sees all, a person with a token of their own sees theirs. What is not theirs is
// not there: a caller cannot learn by asking which ids exist.

import type { Context } from 'hono'
import * as z from 'zod'
import type { Envelope } from '../contract/gateway-events.ts'
import type { SessionScope, TranscriptLine } from '../db/sessions.ts'
import { deleteSession, findSession, listSessions, readTranscript, renameSession } from '../db/sessions.ts'
import { cleanText } from '../lib/clean-text.ts'
import { GatewayError } from '../lib/errors.ts'
import type { Fields } from '../lib/json-value.ts'
import { actorName, auditCallerAction, getAdmittedCaller } from './admin-access.ts'
import { exampleId, formatFieldRows, type ResourceCommands } from './command.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  done,
  doneSchema,
  fieldsSchema,
  idPageQuerySchema,
  instantSchema,
  jsonObjectSchema,
  jsonValueSchema,
  nextId,
  wholeNumberSchema,
} from './resource.ts'

/** Lines, or sessions, of one answer. */
const maxPageSize = 100
const maxTitle = 200
const maxText = 10_000

const sessionSchema = z
  .object({
    id: z.uuid(),
    connection: z.string(),
    agent: z.string(),
    owner: z.string().nullable(),
    status: z.enum(['open', 'closed']),
    title: z.string().nullable(),
    metadata: jsonObjectSchema,
    provider: z.string().nullable(),
    model: z.string().nullable(),
    workspaceType: z.string(),
    workspaceId: z.string(),
    lines: z.number().int().meta({ description: 'How many lines its transcript has' }),
    createdAt: instantSchema,
    lastActivityAt: instantSchema,
    endedAt: instantSchema.nullable(),
    expiresAt: instantSchema.nullable(),
  })
  .meta({ id: 'Session', description: 'The memory of one conversation' })
export type Session = z.infer<typeof sessionSchema>

const transcriptLineSchema = z
  .object({
    seq: z.number().int(),
    schema: z.string(),
    version: z.number().int(),
    id: z.string().optional(),
    role: z.string(),
    type: z.string(),
    content: jsonValueSchema,
    payload: fieldsSchema,
    metadata: fieldsSchema,
    created_at: z.string().optional(),
    updated_at: z.string().optional(),
  })
  .meta({ id: 'TranscriptLine', description: 'agents-api.message, with its number' })

const transcriptSchema = { session: sessionSchema, messages: z.array(transcriptLineSchema) }

const ownerQuery = z.string().optional().meta({ description: 'Only those of this subject' })
const wholeTitle = z
  .string()
  .transform((text) => cleanText(text).replace(/\s+/g, ' ').trim())
  .pipe(z.string().min(1).max(maxTitle))

export const sessions = defineResource({
  name: 'sessions',
  tag: 'What is yours',
  audience: 'owner',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/sessions',
      id: 'ListSessions',
      summary: 'Lists sessions, newest first',
      scopes: ['admin', 'read', 'own'],
      query: idPageQuerySchema(maxPageSize).extend({
        agent: z.string().optional().meta({ description: 'Only those of this agent' }),
        owner: ownerQuery,
      }),
      returns: 'A page of sessions',
      output: z.object({ sessions: z.array(sessionSchema), next: nextId }),
      async handle({ deps, context, query: { limit, before = null, agent = null } }) {
        const found = await listSessions(deps.db, readSessionScope(context), { limit, before, agent })
        return { sessions: found, next: createNextPageMark(found, limit, (each) => each.id) }
      },
    }),
    get: defineOperation({
      method: 'get',
      path: '/sessions/:id',
      id: 'GetSession',
      summary: 'Shows a session with its last lines',
      scopes: ['admin', 'own'],
      query: z.object({
        limit: wholeNumberSchema(1, maxPageSize)
          .default(50)
          .meta({ description: `Lines per page, 1 to ${maxPageSize}` }),
        before: wholeNumberSchema(1, Number.MAX_SAFE_INTEGER)
          .optional()
          .meta({ description: 'Number of the line where the page before this one began: older lines' }),
        owner: ownerQuery,
      }),
      returns: 'The session and a page of its transcript, oldest first',
      output: z.object({
        ...transcriptSchema,
        next: z
          .number()
          .int()
          .nullable()
          .meta({ description: 'before of the page of older lines; null at the beginning' }),
      }),
      problems: [404],
      async handle({ deps, context, base, params, query: { limit, before = null } }) {
        const session = await findSession(deps.db, readSessionScope(context), params.id)
        if (session === undefined) throw sessionNotFoundError(base)
        const lines = await readTranscript(deps.db, session.id, limit, before)
        const first = lines.at(0)?.seq ?? 0
        return { session, messages: lines.map(transcriptLineView), next: first > 0 ? first : null }
      },
    }),
    setTitle: defineOperation({
      method: 'post',
      path: '/sessions/:id/title',
      id: 'TitleSession',
      summary: 'Names a session',
      scopes: ['admin', 'own'],
      body: {
        schema: z.object({ title: wholeTitle.meta({ description: `Up to ${maxTitle} characters` }) }),
        maxBytes: 4096,
        remedy: `send {"title": "…"} as JSON, 1 to ${maxTitle} characters`,
        example: { title: 'Opening hours' },
      },
      returns: 'Its name as it is kept',
      output: z.object({ ok: z.literal(true), title: z.string() }),
      example: { ok: true, title: 'Opening hours' },
      problems: [404],
      async handle({ deps, context, base, params, body: { title } }) {
        if (!(await renameSession(deps.db, readSessionScope(context), params.id, title)))
          throw sessionNotFoundError(base)
        return { ok: true, title }
      },
    }),
    delete: defineOperation({
      method: 'delete',
      path: '/sessions/:id',
      id: 'DeleteSession',
      summary: 'Erases what was said in a session',
      about: 'Deleting it again is a success. While the agent answers in it the answer is 409.',
      scopes: ['admin', 'own'],
      returns: 'It is erased',
      output: doneSchema,
      example: done,
      problems: [404, 409],
      async handle({ deps, context, base, params: { id } }) {
        const outcome = await deleteSession(deps.db, readSessionScope(context), id, actorName(context))
        if (outcome !== 'deleted') {
          const attempt = { action: 'session.delete', outcome: 'refused', objectId: id }
          await auditCallerAction(deps, context, { ...attempt, code: outcome === 'none' ? 'not_found' : outcome })
        }
        switch (outcome) {
          case 'deleted':
            return done
          case 'busy':
            throw new GatewayError(
              'conflict',
              'the agent is answering in this session; stop it, or try again in a moment',
            )
          case 'none':
            throw sessionNotFoundError(base)
        }
      },
    }),
  },
})

// Acts on a session that need consent or change who answers in it. Each is a POST: it leaves a decision behind.

export const takeovers = defineResource({
  name: 'sessions',
  tag: 'Operator: sessions',
  audience: 'operator',
  operations: {
    export: defineOperation({
      method: 'post',
      path: '/admin/sessions/:id/export',
      id: 'exportSession',
      summary: 'Hands out a transcript, with consent',
      scopes: ['admin', 'own'],
      query: z.object({ format: z.enum(['json', 'markdown']).optional(), owner: ownerQuery }),
      output: z.union([z.object(transcriptSchema), z.object({ session: sessionSchema, markdown: z.string() })]),
      problems: [403, 404],
      async handle({ deps, context, params, query: { format } }) {
        const session = await findSession(deps.db, readSessionScope(context), params.id)
        if (session === undefined) throw sessionNotFoundError()
        const by = getAdmittedCaller(context).kind === 'operator' ? actorName(context) : 'owner'
        const lines = await deps.takeover.exportTranscript(session.id, by)
        if (format === 'markdown') return { session, markdown: transcriptMarkdown(session, lines) }
        return { session, messages: lines.map(transcriptLineView) }
      },
    }),
    takeOver: defineOperation({
      method: 'post',
      path: '/admin/sessions/:id/take-over',
      id: 'takeOverSession',
      summary: 'A person answers from now on',
      output: doneSchema,
      problems: [403, 404, 409],
      async handle({ deps, context, params }) {
        await deps.takeover.takeOver(params.id, actorName(context))
        deps.wake()
        return done
      },
    }),
    giveBack: defineOperation({
      method: 'post',
      path: '/admin/sessions/:id/give-back',
      id: 'giveBackSession',
      summary: 'The agent answers again',
      output: doneSchema,
      problems: [403, 404, 409],
      async handle({ deps, context, params }) {
        await deps.takeover.giveBack(params.id)
        await auditCallerAction(deps, context, { action: 'session.give_back', outcome: 'done', objectId: params.id })
        deps.wake()
        return done
      },
    }),
    say: defineOperation({
      method: 'post',
      path: '/admin/sessions/:id/say',
      id: 'sayInSession',
      summary: 'Says something in place of the agent',
      body: {
        schema: z.strictObject({
          text: z
            .string()
            .trim()
            .min(1)
            .max(maxText)
            .meta({ description: `Up to ${maxText} characters` }),
        }),
        maxBytes: 4 * maxText + 1024,
        remedy: `send {"text": "…"} as JSON, 1 to ${maxText} characters`,
        example: { text: 'I look into it.' },
      },
      output: doneSchema,
      problems: [403, 404, 409],
      async handle({ deps, context, params, body: { text } }) {
        await deps.takeover.say(params.id, cleanText(text))
        await auditCallerAction(deps, context, { action: 'session.say', outcome: 'done', objectId: params.id })
        deps.wake()
        return done
      },
    }),
  },
})

const sessionWord = { id: 'Id of a session, as the list shows it' }

export const sessionsCommands = () =>
  ({
    description: 'Conversations and what was said in them.',
    examples: ['parley sessions list', `parley sessions show ${exampleId}`],
    commands: {
      list: {
        name: 'list',
        description: 'List sessions, newest first.',
        examples: ['parley sessions list', 'parley sessions list --agent demo --limit 100 --json'],
        flags: { agent: { valueHint: 'slug' }, owner: { valueHint: 'subject' } },
        rows: 'sessions',
        columns: {
          ID: 'id',
          CONNECTION: 'connection',
          AGENT: 'agent',
          OWNER: 'owner',
          STATUS: 'status',
          LINES: 'lines',
          'LAST ACTIVITY': 'lastActivityAt',
          TITLE: 'title',
        },
        empty: 'No sessions.',
      },
      get: {
        name: 'show',
        description: 'Show a session with the last lines of its transcript.',
        examples: [`parley sessions show ${exampleId}`, `parley sessions show ${exampleId} --before 120 --json`],
        about: sessionWord,
        flags: { owner: false },
        text: ({ session: { metadata: _, ...facts }, messages }) => [
          ...formatFieldRows(facts),
          '',
          ...messages.map(({ seq, role, type, content }) => {
            const text = typeof content === 'string' ? content : JSON.stringify(content)
            return `${String(seq).padStart(5)}  ${role}${type === 'text' ? '' : ` (${type})`}: ${text}`
          }),
        ],
      },
      setTitle: {
        name: 'rename',
        description: 'Give a session a title.',
        examples: [`parley sessions rename ${exampleId} "Trip to Lisbon"`],
        about: sessionWord,
        words: ['title'],
        text: () => 'Renamed.',
      },
      delete: {
        name: 'delete',
        description:
          'Erase what was said in a session; its receipts and numbers stay, the next message begins a new one.',
        examples: [`parley sessions delete ${exampleId} --yes`],
        about: sessionWord,
        confirm: ({ id }) => `Erase session ${id} for good?`,
        text: () => 'Deleted.',
      },
    },
  }) as const satisfies ResourceCommands<typeof sessions>

export const takeoversCommands = () =>
  ({
    description: 'Conversations and what was said in them.',
    examples: [],
    commands: {
      export: {
        name: 'export',
        description: 'Print the whole transcript to hand it on; needs the consent of those who take part.',
        examples: [
          `parley sessions export ${exampleId}`,
          `parley sessions export ${exampleId} --json > transcript.json`,
        ],
        about: sessionWord,
        flags: { owner: false, format: false },
        whenPrinted: { format: 'markdown' },
        text: (answer) => ('markdown' in answer ? answer.markdown.split('\n') : []),
      },
      takeOver: {
        name: 'take-over',
        description: 'Answer in a session yourself; what arrives waits. Needs the consent of those who take part.',
        examples: [`parley sessions take-over ${exampleId}`],
        about: sessionWord,
        text: (_, { args: { id } }) =>
          `Taken over, and the sender is told; say something with: parley sessions say ${id} "…", and end it with: parley sessions give-back ${id}`,
      },
      say: {
        name: 'say',
        description: 'Say something in a session that was taken over.',
        examples: [`parley sessions say ${exampleId} "I have looked into it: your parcel arrives on Monday."`],
        about: sessionWord,
        words: ['text'],
        text: (_, { isOffline }) => (isOffline ? 'Stored; a gateway sends it when it starts.' : 'On its way.'),
      },
      giveBack: {
        name: 'give-back',
        description: 'Let the agent answer again; what has arrived meanwhile is answered now.',
        examples: [`parley sessions give-back ${exampleId}`],
        about: sessionWord,
        text: () => 'Given back, and the sender is told.',
      },
    },
  }) as const satisfies ResourceCommands<typeof takeovers>

/** Whose sessions these are is what the token says; a caller that names another owner is told so instead of being narrowed. */
function readSessionScope(context: Context): SessionScope {
  const caller = getAdmittedCaller(context)
  const asked = context.req.query('owner')
  if (caller.kind === 'operator') return { owner: asked }
  if (asked !== undefined && asked !== caller.principal)
    throw new GatewayError('forbidden', 'this token shows the sessions of its own principal; leave owner out')
  return { owner: caller.principal, workspace: caller.workspace }
}

/** A line for reading: who spoke, by address alone; names and proofs stay in the store. */
function transcriptLineView({ seq, envelope }: TranscriptLine) {
  const { sender, ...metadata } = envelope.metadata as Fields & { readonly sender?: { readonly address?: unknown } }
  const from = sender?.address === undefined ? {} : { sender: { address: sender.address } }
  return { seq, ...envelope, metadata: { ...metadata, ...from } }
}

function sessionNotFoundError(base = '/admin'): GatewayError {
  return new GatewayError('not_found', `no such session; list them with GET ${base}/sessions`)
}

// The Markdown of a transcript quotes what was said, so that nothing in it can pass for a heading of ours.

type Line = { readonly seq: number; readonly envelope: Envelope }
type About = { readonly id: string; readonly connection: string; readonly agent: string; readonly createdAt: string }

function transcriptMarkdown({ id, connection, agent, createdAt }: About, lines: readonly Line[]): string {
  const head = [`# Session ${id}`, '', `With ${agent}, on ${connection}, since ${new Date(createdAt).toISOString()}.`]
  return [...head, ...lines.map(({ seq, envelope }) => transcriptLineMarkdown(seq, envelope)), ''].join('\n')
}

function transcriptLineMarkdown(seq: number, { role, type, content, created_at, metadata }: Envelope): string {
  const kind = type === 'text' ? '' : ` (${type})`
  const by = metadata['spoken_by'] === 'operator' ? ' (a person)' : metadata['ambient'] === true ? ' (ambient)' : ''
  const when = created_at === undefined ? '' : `, ${created_at}`
  const isGone = metadata['deleted'] === true
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const quoted = (isGone ? '*deleted*' : text).split(/\r?\n/).map((each) => `> ${each}`)
  return ['', `## ${seq} ${role}${by}${kind}${when}`, '', ...quoted].join('\n')
}
