// Sessions over HTTP: an operator sees all, a person with a token of their own sees theirs. What is not theirs is
// not there: a caller cannot learn by asking which ids exist.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cleanText, type Envelope, type Fields, GatewayError } from '../contract/index.ts'
import type { SessionScope, TranscriptLine } from '../db/sessions.ts'
import { actorName, getAdmittedCaller, recordAct } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { idParam, limitParam, nextPageMark, readIdPage, readJsonRequest, wholeNumberParam } from './request-input.ts'

/** Lines, or sessions, of one answer. */
export const maxPageSize = 100
const maxTitle = 200

export const titleBody = {
  schema: z.object({
    title: z
      .string()
      .transform((text) => cleanText(text).replace(/\s+/g, ' ').trim())
      .pipe(z.string().min(1).max(maxTitle)),
  }),
  maxBytes: 4096,
  remedy: `send {"title": "…"} as JSON, 1 to ${maxTitle} characters`,
} as const

/** `base`: below the operator's routes, or below those of the API. */
export function addSessionRoutes(app: Hono, deps: Pick<AppDeps, 'sessions' | 'audit'>, base = '/admin'): void {
  const { sessions } = deps
  app.get(`${base}/sessions`, async (context) => {
    const page = readIdPage(context, maxPageSize)
    const found = await sessions.list(readSessionScope(context), { ...page, agent: context.req.query('agent') ?? null })
    return context.json({ sessions: found, next: nextPageMark(found, page.limit, (each) => each.id) })
  })
  app.get(`${base}/sessions/:id`, async (context) => {
    const session = await sessions.find(readSessionScope(context), idParam(context))
    if (session === undefined) throw sessionNotFound(base)
    const before = context.req.query('before')
    const from = before === undefined ? null : wholeNumberParam('before', before, Number.MAX_SAFE_INTEGER)
    const lines = await sessions.transcript(session.id, limitParam(context, maxPageSize), from)
    const first = lines.at(0)?.seq ?? 0
    return context.json({ session, messages: lines.map(transcriptLineView), next: first > 0 ? first : null })
  })
  app.post(`${base}/sessions/:id/title`, async (context) => {
    const { title } = await readJsonRequest(context, titleBody)
    if (!(await sessions.rename(readSessionScope(context), idParam(context), title))) throw sessionNotFound(base)
    return context.json({ ok: true, title })
  })
  app.delete(`${base}/sessions/:id`, async (context) => {
    const outcome = await sessions.delete(readSessionScope(context), idParam(context), actorName(context))
    if (outcome !== 'deleted') {
      const attempt = { action: 'session.delete', outcome: 'refused', objectId: idParam(context) }
      await recordAct(deps, context, { ...attempt, code: outcome === 'none' ? 'not_found' : outcome })
    }
    switch (outcome) {
      case 'deleted':
        return context.json({ ok: true })
      case 'busy':
        throw new GatewayError('conflict', 'the agent is answering in this session; stop it, or try again in a moment')
      case 'none':
        throw sessionNotFound(base)
    }
  })
}

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
function transcriptLineView({ seq, envelope }: TranscriptLine): Fields {
  const { sender, ...metadata } = envelope.metadata as Fields & { readonly sender?: { readonly address?: unknown } }
  const from = sender?.address === undefined ? {} : { sender: { address: sender.address } }
  return { seq, ...envelope, metadata: { ...metadata, ...from } } satisfies Envelope & Fields
}

function sessionNotFound(base = '/admin'): GatewayError {
  return new GatewayError('not_found', `no such session; list them with GET ${base}/sessions`)
}

// Acts on a session that need consent or change who answers in it. Each is a POST: it leaves a decision behind.

const maxText = 10_000

export const sayBody = {
  schema: z.strictObject({ text: z.string().trim().min(1).max(maxText) }),
  maxBytes: 4 * maxText + 1024,
  remedy: `send {"text": "…"} as JSON, 1 to ${maxText} characters`,
} as const

export function addSessionTakeoverRoutes(app: Hono, deps: AppDeps): void {
  const { sessions, desk, wake } = deps
  app.post('/admin/sessions/:id/export', async (context) => {
    const session = await sessions.find(readSessionScope(context), idParam(context))
    if (session === undefined) throw sessionNotFound()
    const lines = await desk.exportTranscript(
      session.id,
      getAdmittedCaller(context).kind === 'operator' ? actorName(context) : 'owner',
    )
    const messages = lines.map(transcriptLineView)
    if (context.req.query('format') !== 'markdown') return context.json({ session, messages })
    return context.json({ session, markdown: transcriptMarkdown(session, lines) })
  })
  app.post('/admin/sessions/:id/take-over', async (context) => {
    await desk.takeOver(idParam(context), requireOperator(context))
    wake()
    return context.json({ ok: true })
  })
  app.post('/admin/sessions/:id/give-back', async (context) => {
    requireOperator(context)
    await desk.giveBack(idParam(context))
    await recordAct(deps, context, { action: 'session.give_back', outcome: 'done', objectId: idParam(context) })
    wake()
    return context.json({ ok: true })
  })
  app.post('/admin/sessions/:id/say', async (context) => {
    requireOperator(context)
    const { text } = await readJsonRequest(context, sayBody)
    await desk.say(idParam(context), cleanText(text))
    await recordAct(deps, context, { action: 'session.say', outcome: 'done', objectId: idParam(context) })
    wake()
    return context.json({ ok: true })
  })
}

function requireOperator(context: Context): string {
  const caller = getAdmittedCaller(context)
  if (caller.kind === 'operator') return actorName(context)
  throw new GatewayError('forbidden', 'only an operator steps in; use an operator token')
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
