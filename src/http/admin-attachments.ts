// Files over HTTP, for operators: what there is, whose it is, one taken back, and a new key for handles.
import type { Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { AppDeps } from './deps.ts'
import { actorName, recordAct } from './note-act.ts'
import { idParam, nextPageMark, readIdPage } from './query.ts'

export function addAdminAttachmentRoutes(app: Hono, deps: Pick<AppDeps, 'files' | 'audit'>): void {
  app.get('/admin/attachments', async (context) => {
    const page = readIdPage(context)
    const found = await deps.files.desk.list(page)
    return context.json({ attachments: found, next: nextPageMark(found, page.limit, (each) => each.id) })
  })
  app.post('/admin/attachments/rotate-key', async (context) => {
    await deps.files.rotateKey(actorName(context))
    return context.json({ ok: true })
  })
  app.get('/admin/attachments/:id', async (context) => {
    const [attachment] = await deps.files.desk.find([idParam(context)])
    if (attachment === undefined) throw attachmentNotFound()
    return context.json({ attachment })
  })
  app.delete('/admin/attachments/:id', async (context) => {
    const id = idParam(context)
    if (await deps.files.desk.remove(id, actorName(context))) return context.json({ ok: true })
    await recordAct(deps, context, { action: 'attachment.delete', outcome: 'refused', code: 'not_found', objectId: id })
    throw attachmentNotFound()
  })
}

function attachmentNotFound(): GatewayError {
  return new GatewayError('not_found', 'no such file, or it is deleted already; list them with GET /admin/attachments')
}
