// Acts on a session that need consent or change who answers in it. Each is a POST: it leaves a decision behind.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cleanText, GatewayError } from '../contract/index.ts'
import { transcriptMarkdown } from '../operator/transcript-markdown.ts'
import { readSessionScope, sessionNotFound, transcriptLineView } from './admin-sessions.ts'
import { getAdmittedCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './json-body.ts'
import { actorName, recordAct } from './note-act.ts'
import { idParam } from './query.ts'

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
