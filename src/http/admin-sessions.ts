// Sessions over HTTP: an operator sees all, a person with a token of their own sees theirs. What is not theirs is
// not there: a caller cannot learn by asking which ids exist.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cleanText, type Envelope, type Fields, GatewayError } from '../contract/index.ts'
import type { SessionScope, TranscriptLine } from '../db/sessions.ts'
import { getAdmittedCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './json-body.ts'
import { actorName, recordAct } from './note-act.ts'
import { idParam, limitParam, nextPageMark, readIdPage, wholeNumberParam } from './query.ts'

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
export function readSessionScope(context: Context): SessionScope {
  const caller = getAdmittedCaller(context)
  const asked = context.req.query('owner')
  if (caller.kind === 'operator') return { owner: asked }
  if (asked !== undefined && asked !== caller.principal)
    throw new GatewayError('forbidden', 'this token shows the sessions of its own principal; leave owner out')
  return { owner: caller.principal, workspace: caller.workspace }
}

/** A line for reading: who spoke, by address alone; names and proofs stay in the store. */
export function transcriptLineView({ seq, envelope }: TranscriptLine): Fields {
  const { sender, ...metadata } = envelope.metadata as Fields & { readonly sender?: { readonly address?: unknown } }
  const from = sender?.address === undefined ? {} : { sender: { address: sender.address } }
  return { seq, ...envelope, metadata: { ...metadata, ...from } } satisfies Envelope & Fields
}

export function sessionNotFound(base = '/admin'): GatewayError {
  return new GatewayError('not_found', `no such session; list them with GET ${base}/sessions`)
}
