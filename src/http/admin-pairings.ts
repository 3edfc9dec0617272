// Pairings over HTTP: strangers listed, approved and rejected, by the code they were given.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { readPairingCode, shownCode } from '../identity/pairing/pairing-code.ts'
import { type PairingDecision, type PairingLine, pairingStatuses } from '../identity/pairing/pairing-store.ts'
import type { AppDeps } from './deps.ts'
import { jsonBody } from './json-body.ts'
import { actorIn } from './note-act.ts'
import { choiceOf, idPageOf, nextOf } from './query.ts'

export const rejectionBody = {
  schema: z.strictObject({ block: z.boolean().default(false) }),
  maxBytes: 1024,
  remedy: 'send {"block": true} to refuse whatever else they write, or {}',
} as const

export function addPairingRoutes(app: Hono, { gateway, wake }: Pick<AppDeps, 'gateway' | 'wake'>): void {
  app.get('/admin/pairings', async (context) => {
    const page = idPageOf(context)
    const found = await gateway.people.pairings.list({ ...page, status: choiceOf(context, 'status', pairingStatuses) })
    const groups = await gateway.people.pairings.groups()
    return context.json({ pairings: found.map(shown), next: nextOf(found, page.limit, (each) => each.id), groups })
  })
  app.post('/admin/pairings/:code/approve', async (context) =>
    answer(context, await gateway.people.pairings.approve(codeOf(context), decider(context)), wake),
  )
  app.post('/admin/pairings/:code/reject', async (context) => {
    const code = codeOf(context)
    const { block } = await jsonBody(context, rejectionBody)
    return answer(context, await gateway.people.pairings.reject(code, decider(context), block), wake)
  })
}

function decider(context: Context): { readonly name: string; readonly subject: null } {
  return { name: actorIn(context), subject: null }
}

function answer(context: Context, decision: PairingDecision, wake: () => void): Response {
  if (decision.kind === 'unknown')
    throw new GatewayError('not_found', 'no pairing has this code; list them with GET /admin/pairings')
  wake()
  if (decision.kind === 'late') throw new GatewayError('conflict', lateWords(decision.pairing))
  return context.json({ pairing: shown(decision.pairing), messages: decision.messages })
}

function lateWords({ status, decidedBy, decidedAt, expiresAt, subject }: PairingLine): string {
  const other = `to decide otherwise use parley grants for ${subject}`
  if (status === 'expired')
    return `this code expired at ${expiresAt}; the sender gets a new one when they write again, or ${other}`
  return `already ${status} by ${decidedBy ?? 'an operator'} at ${decidedAt ?? 'some time'}; ${other}`
}

function shown(pairing: PairingLine): PairingLine {
  return { ...pairing, code: shownCode(pairing.code) }
}

function codeOf(context: Context): string {
  const code = readPairingCode(context.req.param('code') ?? '')
  if (code === undefined)
    throw new GatewayError(
      'bad_request',
      'a code has eight letters and digits, such as BCDF-2345; the dash may be left out',
    )
  return code
}
