// One connection to one mailbox: what is new in it, its bytes within the limit, marking, and waiting for more.
import type { ImapFlow, SearchObject } from 'imapflow'
import { importOnNode, type Secret } from '../../../src/contract/index.ts'

export type FetchedMail = {
  readonly raw: Uint8Array
  /** There is more of it than we take: these are its first bytes. */
  readonly isTooLarge: boolean
  /** When it came to the mailbox (INTERNALDATE); undefined where the server does not say. */
  readonly at: number | undefined
}

export type ImapMailbox = {
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
  let bell = Promise.withResolvers<void>()
  client.on('exists', () => bell.resolve())
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
        bell = Promise.withResolvers()
        const found = await searchUids(client, { uid: `${uid + 1}:*` })
        // A range that begins after the last mail means the last mail (RFC 3501 section 9, seq-range).
        const news = found.filter((each) => each > uid)
        return news.toSorted((one, other) => one - other).slice(0, maxListed)
      },
      before: (instant) => uidBefore(client, instant, uidNext),
      fetch: (uid) => fetchMail(client, uid, maxBytes),
      mark: (uid) => markMail(client, uid, settings),
      change: (longestMs) => waitForChange(client, bell.promise, gone.promise, longestMs),
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
async function uidBefore(client: ImapFlow, instant: number, nextUid: number): Promise<number> {
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
async function markMail(client: ImapFlow, uid: number, { mark = { flag: defaultMark } }: ImapSettings): Promise<void> {
  const range = String(uid)
  const marking =
    'moveTo' in mark
      ? client.messageMove(range, mark.moveTo, { uid: true })
      : client.messageFlagsAdd(range, [mark.flag], { uid: true })
  await marking.catch(() => false)
}

async function waitForChange(
  client: ImapFlow,
  bell: Promise<void>,
  gone: Promise<never>,
  longestMs: number,
): Promise<void> {
  const timeout = Promise.withResolvers<void>()
  const timer = setTimeout(() => timeout.resolve(), longestMs)
  // Ends with the next command, or with the connection, which `gone` tells.
  client.idle().catch(() => {})
  try {
    await Promise.race([bell, gone, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

// Which mailbox is read, and what is done with what was taken.

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
