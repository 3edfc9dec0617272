// Pairings over HTTP: strangers listed, approved and rejected, by the code they were given.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { type PairingDecision, type PairingLine, pairingStatuses } from '../db/pairings.ts'
import { formatPairingCode, readPairingCode } from '../identity/pairing.ts'
import { actorName } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { choiceParam, nextPageMark, readIdPage, readJsonRequest } from './request-input.ts'

export const rejectionBody = {
  schema: z.strictObject({ block: z.boolean().default(false) }),
  maxBytes: 1024,
  remedy: 'send {"block": true} to refuse whatever else they write, or {}',
} as const

export function addPairingRoutes(app: Hono, { gateway, wake }: Pick<AppDeps, 'gateway' | 'wake'>): void {
  app.get('/admin/pairings', async (context) => {
    const page = readIdPage(context)
    const found = await gateway.people.pairings.list({
      ...page,
      status: choiceParam(context, 'status', pairingStatuses),
    })
    const groups = await gateway.people.pairings.groups()
    return context.json({
      pairings: found.map(withShownCode),
      next: nextPageMark(found, page.limit, (each) => each.id),
      groups,
    })
  })
  app.post('/admin/pairings/:code/approve', async (context) =>
    answerPairingDecision(
      context,
      await gateway.people.pairings.approve(pairingCodeParam(context), pairingDecider(context)),
      wake,
    ),
  )
  app.post('/admin/pairings/:code/reject', async (context) => {
    const code = pairingCodeParam(context)
    const { block } = await readJsonRequest(context, rejectionBody)
    return answerPairingDecision(
      context,
      await gateway.people.pairings.reject(code, pairingDecider(context), block),
      wake,
    )
  })
}

function pairingDecider(context: Context): { readonly name: string; readonly subject: null } {
  return { name: actorName(context), subject: null }
}

function answerPairingDecision(context: Context, decision: PairingDecision, wake: () => void): Response {
  if (decision.kind === 'unknown')
    throw new GatewayError('not_found', 'no pairing has this code; list them with GET /admin/pairings')
  wake()
  if (decision.kind === 'late') throw new GatewayError('conflict', lateDecisionText(decision.pairing))
  return context.json({ pairing: withShownCode(decision.pairing), messages: decision.messages })
}

function lateDecisionText({ status, decidedBy, decidedAt, expiresAt, subject }: PairingLine): string {
  const other = `to decide otherwise use parley grants for ${subject}`
  if (status === 'expired')
    return `this code expired at ${expiresAt}; the sender gets a new one when they write again, or ${other}`
  return `already ${status} by ${decidedBy ?? 'an operator'} at ${decidedAt ?? 'some time'}; ${other}`
}

function withShownCode(pairing: PairingLine): PairingLine {
  return { ...pairing, code: formatPairingCode(pairing.code) }
}

function pairingCodeParam(context: Context): string {
  const code = readPairingCode(context.req.param('code') ?? '')
  if (code === undefined)
    throw new GatewayError(
      'bad_request',
      'a code has eight letters and digits, such as BCDF-2345; the dash may be left out',
    )
  return code
}
