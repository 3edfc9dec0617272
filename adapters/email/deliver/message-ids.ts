// Message-IDs of our mails: the same at every try, so that a recipient who gets one twice can tell.
import type { Attempt, DeliveryResult, TtlStore } from '../../../src/contract/index.ts'
import { threadKey, threadName } from '../threading.ts'
import { isAsciiMailAddress, isMessageId, mailtoSubjectOfAddress } from '../wire/address.ts'
import type { MailCall } from '../wire/call.ts'
import type { DeliveryDeps, DeliverySettings } from './settings.ts'

const deliveryFamily = 'mail-delivery'
/** Bounces come within five days of the last try (RFC 5321, 4.5.4.1); some come late. */
const knownMs = 14 * 24 * 60 * 60 * 1000

export type MailNames = {
  /** Without brackets. */
  readonly messageId: string
  readonly replyTo: string
  readonly mailFrom: string
}

/** 80 bits by which a delivery is known outside: in our Message-ID, and in the address that bounces go to. */
export async function deliveryKey(clientId: string): Promise<string> {
  return threadKey(`delivery:${clientId}`)
}

/** A provider that gives mails ids of its own says which: answers will name that one, so the thread goes by it too. */
export async function deliveredOutcome(given: string | undefined, ours: string): Promise<DeliveryResult> {
  const theirs = given?.replace(/^<|>$/g, '') ?? ''
  if (theirs === '' || theirs === ours || !isMessageId(theirs)) return { kind: 'delivered', vendorId: ours }
  const also = { name: threadName(await threadKey(theirs)) }
  return { kind: 'delivered', vendorId: theirs, ...also }
}

/** Undefined: an agent's address leaves no room for a token. */
export async function createMessageIdAndReplyTo(
  call: MailCall,
  { clientId }: Pick<Attempt, 'clientId'>,
  { domain, mailbox, tokens }: Pick<DeliverySettings, 'domain' | 'mailbox'> & Pick<DeliveryDeps, 'tokens'>,
): Promise<MailNames | undefined> {
  const { mint } = await tokens()
  const key = await deliveryKey(clientId)
  const token = await mint(call.thread)
  const { address } = call.from
  const at = address.lastIndexOf('@')
  // Answers then find their thread by our Message-ID, and what bounces is a mail among others.
  if (address.toLowerCase() === mailbox?.toLowerCase())
    return { messageId: `${token}.${key}${address.slice(at)}`, replyTo: address, mailFrom: address }
  const replyTo = `${address.slice(0, at)}+${token}${address.slice(at)}`
  const mailFrom = `bounce+${await mint(key)}@${domain}`
  if (!isAsciiMailAddress(replyTo) || !isAsciiMailAddress(mailFrom)) return undefined
  return { messageId: `${token}.${key}@${domain}`, replyTo, mailFrom }
}

/** So that a bounce, which says only the key, finds the delivery it is about. */
export async function storeDeliveryByKey(notes: TtlStore | undefined, clientId: string, to: string): Promise<void> {
  const key = await deliveryKey(clientId)
  await notes?.keep({
    family: deliveryFamily,
    key,
    value: { client_id: clientId, to },
    lifeMs: knownMs,
    subject: mailtoSubjectOfAddress(to),
  })
}

/** The delivery with this key; undefined where it is unknown or long ago. */
export async function findDeliveryByKey(
  notes: TtlStore,
  key: string,
): Promise<{ readonly clientId: string; readonly to: string } | undefined> {
  const found = await notes.read(deliveryFamily, key)
  const { client_id: clientId, to } = found ?? {}
  return typeof clientId === 'string' && typeof to === 'string' ? { clientId, to } : undefined
}
