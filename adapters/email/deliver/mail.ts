// Delivers one mail. The same call makes the same mail at every try, but for its Date, its boundaries and its signature.

import type { Attempt, DeliveryResult } from '../../../src/contract/index.ts'
import { isGatewayError } from '../../../src/lib/index.ts'
import { createDecisionLinks } from '../approval-links/links.ts'
import { loadDkimKeys } from '../dkim/keys.ts'
import { signMail } from '../dkim/sign.ts'
import { hopHeader, signHopHeader } from '../loop-prevention.ts'
import type { MailCall } from '../wire/call.ts'
import {
  composeBodies,
  composeMail,
  hasPlainAddressesAndIds,
  type MailToCompose,
  openAttachedFiles,
  outgoingEnvelope,
} from './compose.ts'
import { createFolderMailer, createSmtpMailer, type SendMail, sendByCloudflareBinding } from './mailers.ts'
import { createMessageIdAndReplyTo, type MailNames, storeDeliveryByKey } from './message-ids.ts'
import type { DeliveryDeps, DeliverySettings, DkimKey } from './settings.ts'

const pauseMs = 60_000

export function deliverMail(
  settings: DeliverySettings,
  deps: DeliveryDeps,
): (call: MailCall, attempt: Attempt) => Promise<DeliveryResult> {
  const way = createMailer(settings)
  let keys: Promise<readonly DkimKey[]> | undefined
  return async (call, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    if (!hasPlainAddressesAndIds(call)) return { kind: 'refused', reason: 'invalid_recipient' }
    const closed = await findClosedAddressReason(deps, call, attempt)
    if (closed !== undefined) return { kind: 'refused', reason: `place_closed:${closed}` }
    if (way === undefined && deps.mailer === undefined) return { kind: 'retry', reason: 'no_way_out', ...paused }
    // Nothing has left yet, whatever went wrong.
    const mail = await prepareMail(settings, deps, call, attempt).catch(preparationErrorToOutcome)
    if (mail.kind !== 'mail') return mail
    try {
      // Bounces then go to the runtime's mailer, not to an address of ours.
      if (way === undefined && deps.mailer !== undefined)
        return await sendByCloudflareBinding(deps.mailer, mail, attempt)
      const noting = storeDeliveryByKey(deps.ttlStore, attempt.clientId, call.to[0]?.address ?? '')
      // Nothing has left yet: while the database is away it is tried again.
      if (!(await noting.then(alwaysTrue, alwaysFalse))) return { kind: 'retry', reason: 'delivery_not_noted' }
      keys ??= loadDkimKeys(settings)
      const signers = await keys
      const raw = await signMail(await composeMail(mail), signers, { domain: settings.domain, at: mail.at })
      const { messageId } = mail.names
      return await (way ?? postponeWithoutMailer)(
        { raw, envelope: outgoingEnvelope(call, mail.names), messageId },
        attempt,
      )
    } catch (error) {
      // A key that cannot be read may be put right; a mail without its signature would be taken for a forged one.
      keys = undefined
      if (isGatewayError(error, 'config_invalid')) return { kind: 'retry', reason: 'dkim_key_unusable', ...paused }
      throw error
    } finally {
      await mail.end()
    }
  }
}

const alwaysTrue = (): boolean => true
const alwaysFalse = (): boolean => false

const paused = { afterMs: pauseMs, scope: 'connection' } as const

/** A secret that cannot be kept or read is put right by the operator. */
function preparationErrorToOutcome(error: unknown): DeliveryResult {
  if (isGatewayError(error, 'config_invalid')) return { kind: 'retry', reason: 'secret_unusable', ...paused }
  return { kind: 'retry', reason: 'mail_not_prepared' }
}

function createMailer({ smtpUrl, mailFolder, ...settings }: DeliverySettings): SendMail | undefined {
  if (smtpUrl !== undefined) return createSmtpMailer(smtpUrl, settings)
  return mailFolder === undefined ? undefined : createFolderMailer(mailFolder)
}

const postponeWithoutMailer: SendMail = async () => ({ kind: 'retry', reason: 'no_way_out', ...paused })

/** A mailbox that bounced gets no more mail until its owner writes again. */
async function findClosedAddressReason(
  { closedRooms }: Pick<DeliveryDeps, 'closedRooms'>,
  { to }: MailCall,
  { runId }: Attempt,
): Promise<string | undefined> {
  // A store that does not answer must not keep a reply back: the server refuses it if need be.
  return closedRooms?.closed(to[0]?.address ?? '', runId).catch(() => undefined)
}

type PreparedMail = MailToCompose & { readonly kind: 'mail'; readonly end: () => Promise<void> }

async function prepareMail(
  settings: DeliverySettings,
  deps: DeliveryDeps,
  call: MailCall,
  attempt: Attempt,
): Promise<PreparedMail | DeliveryResult> {
  const names = await createMessageIdAndReplyTo(call, attempt, { ...settings, tokens: deps.tokens })
  if (names === undefined) return { kind: 'refused', reason: 'agent_address_too_long' }
  const links = await createDecisionLinks(call, attempt, deps)
  const words = call.text.length + call.html.length
  const files = await openAttachedFiles(call.files, deps.files, Math.max(0, settings.maxMailBytes - words))
  if (files.kind !== 'files') return files
  const { enclosed, linked, end } = files
  const bodies = composeBodies(deps.say, call, links, linked)
  const headers = await agentHopHeaders(settings, deps, call, names)
  return { kind: 'mail', call, names, bodies, enclosed, headers, at: new Date(deps.now()), end }
}

async function agentHopHeaders(
  settings: DeliverySettings,
  { hmac, secret }: DeliveryDeps,
  call: MailCall,
  { messageId }: MailNames,
): Promise<Readonly<Record<string, string>>> {
  if (!mayReachAgents(call, settings)) return {}
  const shared = settings.siblingSecret?.reveal() ?? (await secret())
  return { [hopHeader]: await signHopHeader(hmac, shared, call.hop, messageId) }
}

/** Whether an agent may read it: one of ours, one of a gateway we know, or one that counts already. */
function mayReachAgents({ to, cc, hop }: MailCall, { domain, siblings = [] }: DeliverySettings): boolean {
  const known = new Set([domain, ...siblings].map((each) => each.toLowerCase()))
  const domains = [...to, ...cc].map(({ address }) => address.slice(address.lastIndexOf('@') + 1).toLowerCase())
  return hop > 1 || domains.some((each) => known.has(each))
}
