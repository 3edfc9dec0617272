// People: every subject a decision was made about, and which of them are one person.
import type { Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { subjectSchema } from './admin-grants.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './json-body.ts'
import { actorName } from './note-act.ts'
import { nextPageMark, readIdPage } from './query.ts'

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
