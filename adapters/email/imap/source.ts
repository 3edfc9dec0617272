// A mailbox as an inbound source: one mail after the other, marked and passed by only after it is committed; connects again by itself.

import * as z from 'zod'
import { type Adapter, type ChannelDeps, GatewayError, type SourceBatch } from '../../../src/contract/index.ts'
import type { ClassifyRecipient, OwnMailRegistry } from '../ingress/received.ts'
import type { ReceivedMail } from '../wire/mail.ts'
import { type FetchedMail, type ImapMailbox, type ImapSettings, openMailbox } from './mailbox.ts'

export type ImapDeps = Pick<ChannelDeps, 'now'> & {
  readonly own: OwnMailRegistry
  readonly recipientOf: ClassifyRecipient
  readonly maxBytes: number
}

/** A mailbox that was numbered anew is read again from here: what was taken before is recognised by its own id. */
const rescanMs = 7 * 86_400_000
const longestPauseMs = 60_000
/**
 * A server may say nothing of a mail that is put in while it begins to watch the mailbox (Dovecot does so under load): looked at again
 * soon after that moment, such a mail is late by seconds.
 */
const waits = { firstMs: 1000, longestMs: 60_000 } as const
/** Said of a login that may succeed later with the same password (RFC 5530). */
const passing: ReadonlySet<unknown> = new Set(['UNAVAILABLE', 'INUSE', 'LIMIT', 'SERVERBUG'])
/** A mail that cannot be judged for so long is judged by what is known. */
const patienceMs = 900_000

export function imapSource(settings: ImapSettings, deps: ImapDeps): NonNullable<Adapter['source']> {
  const waiting = createWaiting(deps.now)
  return async function* mails(cursor, signal) {
    let place = readCursor(cursor)
    let failures = 0
    while (!signal.aborted) {
      let mailbox: ImapMailbox | undefined
      try {
        mailbox = await openMailbox(settings, deps.maxBytes, signal)
        const found = await findCursor(mailbox, place, settings, deps)
        if (found !== place) yield { arrivals: [], cursor: JSON.stringify(found) }
        place = found
        const { firstWaitMs = waits.firstMs, pollMs = waits.longestMs } = settings
        let waitMs = firstWaitMs
        while (!signal.aborted) {
          const uids = await mailbox.after(place.uid)
          for (const uid of uids) {
            const next: ImapCursor = { ...place, uid }
            const mail = await mailbox.fetch(uid)
            // Asked for more only after this is committed: until then the place stays where it was.
            if (mail !== undefined) yield await mailBatch(mail, next, mailbox, { settings, deps, waiting })
            place = next
          }
          // Not before: a server that lets in and then fails is asked less and less often, too.
          failures = 0
          if (uids.length > 0) waitMs = firstWaitMs
          else {
            await mailbox.change(Math.min(waitMs, pollMs))
            waitMs = Math.min(waitMs * 2, pollMs)
          }
        }
      } catch (error) {
        if (isLoginRefusal(error)) throw loginRefused(error)
        failures += 1
      } finally {
        mailbox?.close()
      }
      await sleep(Math.min((settings.firstPauseMs ?? 1000) * 2 ** (failures - 1), longestPauseMs), signal)
    }
  }
}

async function findCursor(
  mailbox: ImapMailbox,
  place: ImapCursor | undefined,
  { startAt = 'now' }: ImapSettings,
  { now }: ImapDeps,
): Promise<ImapCursor> {
  const { validity, nextUid } = mailbox
  if (place?.validity === validity) return place
  if (place === undefined && startAt === 'all') return { v: 1, validity, uid: 0, from: new Date(0).toISOString() }
  if (place === undefined) return { v: 1, validity, uid: nextUid - 1, from: new Date(now()).toISOString() }
  const uid = await mailbox.before(Math.max(Date.parse(place.from), now() - rescanMs))
  return { ...place, validity, uid }
}

type SourceContext = { readonly settings: ImapSettings; readonly deps: ImapDeps; readonly waiting: Waiting }

/** Whether the mail at this place has been given out in vain for too long. */
type Waiting = { readonly isTooLong: (cursor: ImapCursor) => boolean }

/** There is only ever one: the place does not move beyond it. */
function createWaiting(now: () => number): Waiting {
  let known: { readonly at: string; readonly since: number } | undefined
  return {
    isTooLong({ validity, uid }) {
      const at = `${validity}/${uid}`
      if (known?.at !== at) known = { at, since: now() }
      return now() - known.since >= patienceMs
    },
  }
}

async function mailBatch(
  { raw, isTooLarge, at }: FetchedMail,
  cursor: ImapCursor,
  mailbox: ImapMailbox,
  { settings, deps, waiting }: SourceContext,
): Promise<SourceBatch> {
  const { returnPath, deliveredTo } = readDeliveryFields(raw)
  const rcptTo = [await findRecipient(deliveredTo, settings, deps)]
  const receivedAt = new Date(deps.now()).toISOString()
  const lastTry = waiting.isTooLong(cursor) ? { isLastTry: true } : {}
  const envelope = { mailFrom: returnPath, rcptTo }
  // A clock that is ahead of ours makes nothing newer than now.
  const cameAt = at === undefined ? {} : { mailboxAt: new Date(Math.min(at, deps.now())).toISOString() }
  const mail: ReceivedMail = { way: 'imap', raw, envelope, receivedAt, ...cameAt, ...lastTry }
  return {
    arrivals: [isTooLarge ? deps.own.addTooLarge(mail) : deps.own.add(mail)],
    cursor: JSON.stringify(cursor),
    acknowledge: () => mailbox.mark(cursor.uid),
  }
}

/** One agent's address with a tag, or one of many that share a mailbox; else the mailbox's own. */
async function findRecipient(
  deliveredTo: readonly string[],
  { address }: ImapSettings,
  { recipientOf }: ImapDeps,
): Promise<string> {
  for (const each of deliveredTo) {
    const recipient = await recipientOf(each)
    if (recipient === 'agent' || recipient === 'bounce') return each
  }
  return address
}

/** Any end of a login is a failed one to the client: only a server that says no has refused it. */
function isLoginRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !('authenticationFailed' in error) || !('responseStatus' in error)) return false
  return error.responseStatus === 'NO' && !('serverResponseCode' in error && passing.has(error.serverResponseCode))
}

function loginRefused(cause: unknown): GatewayError {
  const remedy = 'check the name and the password in EMAIL_IMAP_URL'
  return new GatewayError('config_invalid', `[email] the mailbox refused the login; ${remedy}`, { cause })
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(() => over.resolve(), ms)
  signal.addEventListener('abort', () => over.resolve(), { once: true })
  await over.promise
  clearTimeout(timer)
}

// The place in a mailbox, as it is kept between two holds.

const cursorSchema = z.object({
  v: z.literal(1),
  /** UIDs mean something only under this number (RFC 3501 section 2.3.1.1). */
  validity: z.string().regex(/^\d{1,20}$/),
  /** The last that was taken. */
  uid: z.number().int().nonnegative(),
  /** What was there before we came is never taken, whatever number it gets. */
  from: z.iso.datetime(),
})

type ImapCursor = z.output<typeof cursorSchema>

/** Undefined: there is none yet, or not one of ours. */
function readCursor(text: string | undefined): ImapCursor | undefined {
  try {
    return cursorSchema.parse(JSON.parse(text ?? ''))
  } catch {
    return undefined
  }
}

// What the server that delivered a mail into the mailbox wrote on top of it. Only above the first Received field: below it everything is
// the sender's.

export type DeliveryFields = {
  /** Undefined: it was not written down. Empty: the null sender. */
  readonly returnPath: string | undefined
  /** The addresses it was delivered for, the one that was written to first. */
  readonly deliveredTo: readonly string[]
}

const maxHeadBytes = 65_536
const maxFields = 50
/** In the order in which they are believed. */
const recipientFields = ['x-original-to', 'delivered-to', 'envelope-to']

function readDeliveryFields(raw: Uint8Array): DeliveryFields {
  const fields = fieldsAboveReceived(new TextDecoder('latin1').decode(raw.subarray(0, maxHeadBytes)))
  const returnPath = fields.get('return-path')
  return {
    returnPath: returnPath === undefined ? undefined : withoutAngleBrackets(returnPath),
    deliveredTo: recipientFields.flatMap((name) => {
      const value = fields.get(name)
      return value === undefined ? [] : [withoutAngleBrackets(value)]
    }),
  }
}

/** The first of each name. */
function fieldsAboveReceived(head: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of head.split(/\r?\n/, maxFields)) {
    const field = /^([!-9;-~]{1,76}):[ \t]*(.{0,998})$/.exec(line)
    if (line === '' || field?.[1]?.toLowerCase() === 'received') break
    const [name, value] = [field?.[1]?.toLowerCase() ?? '', field?.[2]?.trim() ?? '']
    if (name !== '' && !fields.has(name)) fields.set(name, value)
  }
  return fields
}

function withoutAngleBrackets(value: string): string {
  return /^<(.*)>$/.exec(value)?.[1] ?? value
}
