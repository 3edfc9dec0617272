// Acts on a session that need consent or change who answers in it. Each is a POST: it leaves a decision behind.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { cleanText, GatewayError } from '../contract/index.ts'
import { transcriptMarkdown } from '../operator/transcript-markdown.ts'
import { noSession, scopeOf, shownLine } from './admin-sessions.ts'
import { keptCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'
import { jsonBody } from './json-body.ts'
import { actorIn, noteAct } from './note-act.ts'
import { idOf } from './query.ts'

const maxText = 10_000

export const sayingBody = {
  schema: z.strictObject({ text: z.string().trim().min(1).max(maxText) }),
  maxBytes: 4 * maxText + 1024,
  remedy: `send {"text": "…"} as JSON, 1 to ${maxText} characters`,
} as const

export function addSessionDeskRoutes(app: Hono, deps: AppDeps): void {
  const { sessions, desk, wake } = deps
  app.post('/admin/sessions/:id/export', async (context) => {
    const session = await sessions.find(scopeOf(context), idOf(context))
    if (session === undefined) throw noSession()
    const lines = await desk.exportTranscript(
      session.id,
      keptCaller(context).kind === 'operator' ? actorIn(context) : 'owner',
    )
    const messages = lines.map(shownLine)
    if (context.req.query('format') !== 'markdown') return context.json({ session, messages })
    return context.json({ session, markdown: transcriptMarkdown(session, lines) })
  })
  app.post('/admin/sessions/:id/take-over', async (context) => {
    await desk.takeOver(idOf(context), operatorOf(context))
    wake()
    return context.json({ ok: true })
  })
  app.post('/admin/sessions/:id/give-back', async (context) => {
    operatorOf(context)
    await desk.giveBack(idOf(context))
    await noteAct(deps, context, { action: 'session.give_back', outcome: 'done', objectId: idOf(context) })
    wake()
    return context.json({ ok: true })
  })
  app.post('/admin/sessions/:id/say', async (context) => {
    operatorOf(context)
    const { text } = await jsonBody(context, sayingBody)
    await desk.say(idOf(context), cleanText(text))
    await noteAct(deps, context, { action: 'session.say', outcome: 'done', objectId: idOf(context) })
    wake()
    return context.json({ ok: true })
  })
}

function operatorOf(context: Context): string {
  const caller = keptCaller(context)
  if (caller.kind === 'operator') return actorIn(context)
  throw new GatewayError('forbidden', 'only an operator steps in; use an operator token')
}
