// IMAP: a mailbox as an inbound source. One mail after the other, marked and passed by only after it is committed; connects again
// by itself.

import type { ImapFlow, SearchObject } from 'imapflow'
import * as z from 'zod'
import type { ChannelDeps, Ingress, PolledBatch } from '../../src/contract/index.ts'
import { GatewayError, importOnNode, type Secret, sleep } from '../../src/lib/index.ts'
import type { ClassifyRecipient, OwnMailRegistry } from './ingress/received.ts'
import type { ReceivedMail } from './wire/mail.ts'

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

export function createImapPoller(settings: ImapSettings, deps: ImapDeps): NonNullable<Ingress['poll']> {
  const waiting = createStuckMailCheck(deps.now)
  return async function* yieldNewMailBatches(cursor, signal) {
    let place = readCursor(cursor)
    let failures = 0
    while (!signal.aborted) {
      let mailbox: ImapMailbox | undefined
      try {
        mailbox = await openMailbox(settings, deps.maxBytes, signal)
        const found = await chooseStartCursor(mailbox, place, settings, deps)
        if (found !== place) yield { requests: [], cursor: JSON.stringify(found) }
        place = found
        const { firstWaitMs = waits.firstMs, pollMs = waits.longestMs } = settings
        let waitMs = firstWaitMs
        while (!signal.aborted) {
          const uids = await mailbox.after(place.uid)
          for (const uid of uids) {
            const next: ImapCursor = { ...place, uid }
            const mail = await mailbox.fetch(uid)
            // Asked for more only after this is committed: until then the place stays where it was.
            if (mail !== undefined) yield await createMailBatch(mail, next, mailbox, { settings, deps, waiting })
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
        if (isLoginRefusal(error)) throw loginRefusedError(error)
        failures += 1
      } finally {
        mailbox?.close()
      }
      await sleep(Math.min((settings.firstPauseMs ?? 1000) * 2 ** (failures - 1), longestPauseMs), signal)
    }
  }
}

async function chooseStartCursor(
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
function createStuckMailCheck(now: () => number): Waiting {
  let known: { readonly at: string; readonly since: number } | undefined
  return {
    isTooLong({ validity, uid }) {
      const at = `${validity}/${uid}`
      if (known?.at !== at) known = { at, since: now() }
      return now() - known.since >= patienceMs
    },
  }
}

async function createMailBatch(
  { raw, isTooLarge, at }: FetchedMail,
  cursor: ImapCursor,
  mailbox: ImapMailbox,
  { settings, deps, waiting }: SourceContext,
): Promise<PolledBatch> {
  const { returnPath, deliveredTo } = readDeliveryFields(raw)
  const rcptTo = [await findDeliveredRecipient(deliveredTo, settings, deps)]
  const receivedAt = new Date(deps.now()).toISOString()
  const lastTry = waiting.isTooLong(cursor) ? { isLastTry: true } : {}
  const envelope = { mailFrom: returnPath, rcptTo }
  // A clock that is ahead of ours makes nothing newer than now.
  const cameAt = at === undefined ? {} : { mailboxAt: new Date(Math.min(at, deps.now())).toISOString() }
  const mail: ReceivedMail = { way: 'imap', raw, envelope, receivedAt, ...cameAt, ...lastTry }
  return {
    requests: [isTooLarge ? deps.own.addTooLarge(mail) : deps.own.add(mail)],
    cursor: JSON.stringify(cursor),
    acknowledge: () => mailbox.mark(cursor.uid),
  }
}

/** One agent's address with a tag, or one of many that share a mailbox; else the mailbox's own. */
async function findDeliveredRecipient(
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

function loginRefusedError(cause: unknown): GatewayError {
  const remedy = 'check the name and the password in EMAIL_IMAP_URL'
  return new GatewayError('config_invalid', `[email] the mailbox refused the login; ${remedy}`, { cause })
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

// Of the fields that the delivering server wrote, only those above the first Received field count: below it everything is the
// sender's.

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
  const fields = readFieldsAboveReceived(new TextDecoder('latin1').decode(raw.subarray(0, maxHeadBytes)))
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
function readFieldsAboveReceived(head: string): ReadonlyMap<string, string> {
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

// One connection to one mailbox: what is new in it, its bytes within the limit, marking, and waiting for more.

type FetchedMail = {
  readonly raw: Uint8Array
  /** There is more of it than we take: these are its first bytes. */
  readonly isTooLarge: boolean
  /** When it came to the mailbox (INTERNALDATE); undefined where the server does not say. */
  readonly at: number | undefined
}

type ImapMailbox = {
  readonly validity: string
  /** The number that the next mail will get. */
  readonly nextUid: number
  /** In their order, beginning after this one. At most a few hundred at a time. */
  readonly after: (uid: number) => Promise<readonly number[]>
  /** The number before that of the first mail that came at this instant or later. */
  readonly before: (instant: number) => Promise<number>
  /** Undefined: it was removed meanwhile. */
  readonly fetch: (uid: number) => Promise<FetchedMail | undefined>
  readonly mark: (uid: number) => Promise<void>
  /** Resolves when there may be something new, and after `longestMs` in any case; rejects when the connection is gone. */
  readonly change: (longestMs: number) => Promise<void>
  readonly close: () => void
}

const maxListed = 200
/** So many of the newest are looked at after the mailbox has been numbered anew. */
const maxRescanned = 1000
const headBytes = 65_536
const dayMs = 86_400_000
const defaultMark = '$Parley'

export async function openMailbox(settings: ImapSettings, maxBytes: number, signal: AbortSignal): Promise<ImapMailbox> {
  const client = await createImapClient(settings)
  const gone = Promise.withResolvers<never>()
  // Told to the next call that waits or asks; there is not always one.
  gone.promise.catch(() => {})
  const onConnectionLost = (): void => gone.reject(new Error('the connection to the mailbox is gone'))
  let wakeup = Promise.withResolvers<void>()
  client.on('exists', () => wakeup.resolve())
  client.on('error', onConnectionLost)
  client.on('close', onConnectionLost)
  const closeImapClient = (): void => client.close()
  signal.addEventListener('abort', closeImapClient, { once: true })
  try {
    await client.connect()
    const { uidValidity, uidNext } = await client.mailboxOpen(settings.mailbox ?? 'INBOX')
    return {
      validity: String(uidValidity),
      nextUid: uidNext,
      async after(uid) {
        wakeup = Promise.withResolvers()
        const found = await searchUids(client, { uid: `${uid + 1}:*` })
        // A range that begins after the last mail means the last mail (RFC 3501 section 9, seq-range).
        const news = found.filter((each) => each > uid)
        return news.toSorted((one, other) => one - other).slice(0, maxListed)
      },
      before: (instant) => findUidBefore(client, instant, uidNext),
      fetch: (uid) => fetchMail(client, uid, maxBytes),
      mark: (uid) => flagOrMoveMail(client, uid, settings),
      change: (longestMs) => waitForChange(client, wakeup.promise, gone.promise, longestMs),
      close: closeImapClient,
    }
  } catch (error) {
    closeImapClient()
    throw error
  }
}

async function createImapClient(settings: ImapSettings): Promise<ImapFlow> {
  const { ImapFlow: Client } = await importOnNode<typeof import('imapflow')>('imapflow')
  const { host, port, secure, user, password, ca, allowPlain = false } = settings
  return new Client({
    host,
    port,
    secure,
    ...(secure ? {} : { doSTARTTLS: !allowPlain }),
    auth: { user, pass: password.reveal() },
    ...(ca === undefined ? {} : { tls: { ca } }),
    // It logs what people write.
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: 20_000,
    greetingTimeout: 10_000,
    socketTimeout: 600_000,
  })
}

/** A server that puts the question off has not said that there is nothing: then this connection is given up for another one. */
async function searchUids(client: ImapFlow, query: SearchObject): Promise<readonly number[]> {
  const found = await client.search(query, { uid: true })
  if (!Array.isArray(found)) throw new Error('the mailbox was not searched')
  return found
}

/** The server counts in days; the instant within the day is ours to compare. */
async function findUidBefore(client: ImapFlow, instant: number, nextUid: number): Promise<number> {
  const found = await searchUids(client, { since: new Date(instant - dayMs) })
  const newest = found.toSorted((one, other) => one - other).slice(-maxRescanned)
  for (const uid of newest) {
    const mail = await client.fetchOne(String(uid), { internalDate: true }, { uid: true })
    const at = mail ? new Date(mail.internalDate ?? 0).getTime() : 0
    if (at >= instant) return uid - 1
  }
  return nextUid - 1
}

async function fetchMail(client: ImapFlow, uid: number, maxBytes: number): Promise<FetchedMail | undefined> {
  const facts = await client.fetchOne(String(uid), { size: true, internalDate: true }, { uid: true })
  if (!facts) return undefined
  const isDeclaredTooLarge = (facts.size ?? 0) > maxBytes
  // One byte more than allowed is enough to know, whatever the server said of the size.
  const maxLength = isDeclaredTooLarge ? headBytes : maxBytes + 1
  const mail = await client.fetchOne(String(uid), { source: { start: 0, maxLength } }, { uid: true })
  if (!mail || mail.source === undefined) return undefined
  const raw = new Uint8Array(mail.source)
  const isTooLarge = isDeclaredTooLarge || raw.byteLength > maxBytes
  const at = facts.internalDate === undefined ? Number.NaN : new Date(facts.internalDate).getTime()
  return { raw: isTooLarge ? raw.slice(0, headBytes) : raw, isTooLarge, at: Number.isNaN(at) ? undefined : at }
}

/** What is not marked has been taken all the same: the place says so, the mark only shows it. */
async function flagOrMoveMail(
  client: ImapFlow,
  uid: number,
  { mark = { flag: defaultMark } }: ImapSettings,
): Promise<void> {
  const range = String(uid)
  const marking =
    'moveTo' in mark
      ? client.messageMove(range, mark.moveTo, { uid: true })
      : client.messageFlagsAdd(range, [mark.flag], { uid: true })
  await marking.catch(() => false)
}

async function waitForChange(
  client: ImapFlow,
  wakeup: Promise<void>,
  gone: Promise<never>,
  longestMs: number,
): Promise<void> {
  const timeout = Promise.withResolvers<void>()
  const timer = setTimeout(() => timeout.resolve(), longestMs)
  // Ends with the next command, or with the connection, which `gone` tells.
  client.idle().catch(() => {})
  try {
    await Promise.race([wakeup, gone, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

// Settings: which mailbox is read, and what is done with what was taken.

export type ImapSettings = {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. Without it STARTTLS is demanded, unless `allowPlain` says otherwise. */
  readonly secure: boolean
  /** For servers on this machine: the password goes over the wire as it is. */
  readonly allowPlain?: boolean
  readonly user: string
  readonly password: Secret
  /** Without it: INBOX. */
  readonly mailbox?: string
  /** Whose mailbox it is: for mails that do not say which of our addresses they were delivered to. */
  readonly address: string
  /** How a taken mail is marked: a flag, a keyword, or another folder. Without it the keyword `$Parley`. */
  readonly mark?: { readonly flag: string } | { readonly moveTo: string }
  /** What is there when we connect for the first time is left alone, unless it is `all`. */
  readonly startAt?: 'now' | 'all'
  /** The server's certificate authority as PEM, where it is not a public one. */
  readonly ca?: string
  /** First pause before another try to connect; doubled up to a minute. */
  readonly firstPauseMs?: number
  /** First wait before the server is asked although it told of nothing new; doubled up to `pollMs`. */
  readonly firstWaitMs?: number
  /** The longest wait: where the server does not tell, it is asked so often. Without it a minute. */
  readonly pollMs?: number
}
