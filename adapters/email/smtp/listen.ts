// The SMTP listener: recipients are judged one by one, the mail is delivered once for all of them, and 250 means that it is
// stored. It relays nothing and has no logins.
import type { SMTPServer, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import type { Ingress, ReceiveResult, ServeContext } from '../../../src/contract/index.ts'
import { importOnNode, LruMap } from '../../../src/lib/index.ts'
import type { ReceivedMail } from '../wire/mail.ts'
import { type BodyStream, type ByteBudget, collectData, createByteBudget } from './collect-data.ts'
import { listenResultToReply, type Reply, recipientReply, replies, smtpError } from './replies.ts'
import { type SmtpDeps, type SmtpLimits, type SmtpSettings, smtpLimits } from './settings.ts'

/** Sendmail's jokes and the ways to pretend to be another client; AUTH, because there are no accounts here. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'VRFY', 'EXPN', 'HELP', 'WIZ', 'SHELL', 'KILL']

export function createSmtpListener(settings: SmtpSettings, deps: SmtpDeps): NonNullable<Ingress['listen']> {
  const limits: SmtpLimits = { ...smtpLimits, ...settings.limits }
  return async (context, signal) => {
    const { SMTPServer: Server } = await importOnNode<typeof import('smtp-server')>('smtp-server')
    const lines = createSmtpConnectionRegistry()
    const server = new Server(smtpServerOptions(settings, limits, { ...deps, context, lines }))
    lines.attach(server)
    const address = await openSmtpServer(server, settings)
    const stop = callOnlyOnce(() => closeSmtpServer(server, lines))
    signal.addEventListener('abort', () => void stop(), { once: true })
    if (signal.aborted) await stop()
    return { address, stop }
  }
}

type ListenerContext = SmtpDeps & { readonly context: Pick<ServeContext, 'receive'>; readonly lines: SmtpConnections }

function smtpServerOptions({ name, tls }: SmtpSettings, limits: SmtpLimits, means: ListenerContext): SMTPServerOptions {
  const { lines, now, maxBytes } = means
  const clients = createSmtpClientLimits(limits, now)
  const transactions = createSmtpTransactionHandlers({
    ...means,
    limits,
    clients,
    room: createByteBudget(limits.heldBytes),
  })
  return {
    name,
    size: maxBytes,
    maxClients: limits.clients,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.graceMs,
    disabledCommands: tls === undefined ? [...disabledCommands, 'STARTTLS'] : disabledCommands,
    ...(tls === undefined ? {} : { key: tls.key.reveal(), cert: tls.cert, minVersion: 'TLSv1.2' as const }),
    authOptional: true,
    // Addresses are compared byte for byte later on; those that need another alphabet are not.
    hideSMTPUTF8: true,
    disableReverseLookup: true,
    // It would write what people send into the log.
    logger: false,
    maxCommandLength: 4096,
    onConnect(session, callback) {
      if (!clients.enter(session.id, session.remoteAddress)) return callback(smtpError(replies.tooMany))
      lines.begin(session.id, limits.sessionMs)
      callback()
    },
    onClose(session) {
      clients.leave(session.id)
      lines.end(session.id)
    },
    ...transactions,
  }
}

function openSmtpServer(server: SMTPServer, { host, port }: SmtpSettings): Promise<string> {
  return new Promise((resolve, reject) => {
    // An operator who opens ports knows what the codes of the system mean.
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      // A client that breaks off, or whose TLS fails: nothing to report.
      server.on('error', () => {})
      const bound = server.server.address()
      resolve(`smtp://${host}:${typeof bound === 'object' && bound !== null ? bound.port : port}`)
    })
  })
}

function closeSmtpServer(server: SMTPServer, lines: SmtpConnections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    lines.stop()
  })
}

function callOnlyOnce(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

// One mail over one connection: MAIL, RCPT, DATA, and what the client is told in the end.

export type TransactionDeps = SmtpDeps & {
  readonly context: Pick<ServeContext, 'receive'>
  readonly limits: SmtpLimits
  readonly clients: SmtpClients
  readonly lines: SmtpConnections
  readonly room: ByteBudget
}

type Transactions = Pick<Required<SMTPServerOptions>, 'onMailFrom' | 'onRcptTo' | 'onData'>

const ascii = /^[\x21-\x7e]*$/

function createSmtpTransactionHandlers(deps: TransactionDeps): Transactions {
  const { clients, lines, limits } = deps
  return {
    onMailFrom({ address, args }, session, callback) {
      if (!ascii.test(address)) return callback(smtpError(replies.notAscii))
      const { SIZE: declared = 0 } = { ...(args as { readonly SIZE?: string | number } | false | undefined) }
      if (Number(declared) > clients.maxBytes(session.remoteAddress, Number.POSITIVE_INFINITY))
        return callback(smtpError(replies.tooMuch))
      callback(clients.maySend(session.remoteAddress) ? null : smtpError(replies.tooFast))
    },
    onRcptTo({ address }, session, callback) {
      void checkRcptTo(deps, session, address).then((reply) => {
        if (reply === undefined) return callback()
        if (clients.refused(session.id) > limits.refusedRecipients) lines.hangUp(session.id, replies.guessing)
        else callback(smtpError(reply))
      })
    },
    onData(stream, session, callback) {
      lines.busy.add(session.id)
      const hangUpOnDataTimeout = (): void => lines.hangUp(session.id, replies.tooLong)
      const late = setTimeout(hangUpOnDataTimeout, limits.dataMs)
      const maxBytes = clients.maxBytes(session.remoteAddress, deps.maxBytes)
      const isCut = maxBytes < deps.maxBytes
      const incompleteReply = (why: keyof typeof incomplete): Reply =>
        why === 'too_large' && isCut ? replies.tooMuch : incomplete[why]
      const hangUpOnIncompleteData = (why: keyof typeof incomplete): void =>
        lines.hangUp(session.id, incompleteReply(why))
      // Node's own stream; the portable program does not know its type.
      const body = stream as unknown as BodyStream
      const room = clients.roomFor(session.id, deps.room)
      void collectData(body, { maxBytes, room, onHopeless: hangUpOnIncompleteData })
        .finally(() => clearTimeout(late))
        .then((collected) =>
          collected.kind === 'whole'
            ? submitMailForReply({ ...deps, room }, session, collected.raw)
            : incompleteReply(collected.kind),
        )
        .then((reply) => {
          if (reply === undefined) callback(null, '2.6.0 stored')
          else callback(smtpError(reply))
          lines.free(session.id)
        })
    },
  }
}

async function checkRcptTo(
  { recipientOf, limits }: TransactionDeps,
  { envelope }: SMTPServerSession,
  address: string,
): Promise<Reply | undefined> {
  if (!ascii.test(address)) return replies.notAscii
  if (envelope.rcptTo.length >= limits.recipients) return replies.tooManyRecipients
  try {
    return recipientReply(await recipientOf(address))
  } catch {
    return replies.later
  }
}

/** The client is gone: it cannot be told that its mail was cut. */
const incomplete = {
  too_large: replies.tooLarge,
  too_fine: replies.tooFine,
  no_room: replies.noRoom,
  cut: replies.later,
} as const

/** Undefined: it is stored. Nothing here throws: a client that waits is always answered. */
async function submitMailForReply(
  deps: TransactionDeps,
  session: SMTPServerSession,
  raw: Uint8Array,
): Promise<Reply | undefined> {
  try {
    const answer = await answerInTime(
      deps.context.receive(deps.own.add(sessionToReceivedMail(deps, session, raw))),
      deps.limits.answerMs,
    )
    if ('isUnproven' in answer && answer.isUnproven === true)
      deps.clients.unproven(session.remoteAddress, raw.byteLength)
    return listenResultToReply(answer)
  } catch {
    return replies.later
  } finally {
    deps.room.give(raw.byteLength)
  }
}

function sessionToReceivedMail({ now }: TransactionDeps, session: SMTPServerSession, raw: Uint8Array): ReceivedMail {
  const { envelope, remoteAddress, hostNameAppearsAs } = session
  return {
    way: 'smtp',
    raw,
    envelope: {
      mailFrom: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
      rcptTo: envelope.rcptTo.map(({ address }) => address),
      clientIp: remoteAddress,
      helo: hostNameAppearsAs,
    },
    receivedAt: new Date(now()).toISOString(),
  }
}

/** What is stored later than this comes a second time and is recognised then. */
async function answerInTime(work: Promise<ReceiveResult>, limitMs: number): Promise<ReceiveResult> {
  const late = Promise.withResolvers<ReceiveResult>()
  const timer = setTimeout(() => late.resolve({ kind: 'later', reason: 'too_slow' }), limitMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

// SMTP connections and their limits: who is connected, how often each address comes, and how much it sends. They guard this one
// process, so they are kept in its memory.

export type SmtpClients = {
  /** False: too many of them. */
  readonly enter: (session: string, address: string) => boolean
  readonly leave: (session: string) => void
  /** False: more mails in a minute than one address may send. */
  readonly maySend: (address: string) => boolean
  /** How many recipients of this session were refused, with this one. */
  readonly refused: (session: string) => number
  /** Room for a mail of this session: a share of `room` for each address. */
  readonly roomFor: (session: string, room: ByteBudget) => ByteBudget
  /** The largest mail that is taken from this address now. */
  readonly maxBytes: (address: string, usual: number) => number
  /** A mail of this address was received whole, and nothing proved who sent it. */
  readonly unproven: (address: string, bytes: number) => void
}

type Session = { readonly network: string; refused: number }

type Count = { at: number; mails: number }
type UnprovenBytes = { at: number; bytes: number }

const minuteMs = 60_000
const hourMs = 3_600_000
/** More addresses than this within a minute start a new count: an attacker with that many is not stopped by counting. */
const maxAddresses = 10_000

function createSmtpClientLimits(limits: SmtpLimits, now: () => number): SmtpClients {
  const sessions = new Map<string, Session>()
  const open = new Map<string, number>()
  const sent = new LruMap<string, Count>(maxAddresses)
  const held = new Map<string, number>()
  const unproven = new LruMap<string, UnprovenBytes>(maxAddresses)
  return {
    enter(session, address) {
      const network = clientNetwork(address)
      const already = open.get(network) ?? 0
      if (already >= limits.clientsPerAddress) return false
      open.set(network, already + 1)
      sessions.set(session, { network, refused: 0 })
      return true
    },
    leave(session) {
      const known = sessions.get(session)
      if (known === undefined) return
      const { network } = known
      sessions.delete(session)
      const left = (open.get(network) ?? 1) - 1
      if (left > 0) open.set(network, left)
      else open.delete(network)
    },
    maySend(address) {
      const network = clientNetwork(address)
      const known = sent.get(network)
      if (known === undefined || now() - known.at >= minuteMs) {
        sent.set(network, { at: now(), mails: 1 })
        return true
      }
      known.mails += 1
      return known.mails <= limits.mailsPerMinute
    },
    refused(session) {
      const known = sessions.get(session)
      if (known === undefined) return 0
      known.refused += 1
      return known.refused
    },
    roomFor(session, room) {
      const network = sessions.get(session)?.network ?? session
      const changeHeldBytes = (bytes: number): void => {
        const now = (held.get(network) ?? 0) + bytes
        if (now > 0) held.set(network, now)
        else held.delete(network)
      }
      return {
        take(bytes) {
          if ((held.get(network) ?? 0) + bytes > limits.heldBytesPerAddress || !room.take(bytes)) return false
          changeHeldBytes(bytes)
          return true
        },
        give(bytes) {
          room.give(bytes)
          changeHeldBytes(-bytes)
        },
      }
    },
    maxBytes(address, usual) {
      const known = unproven.get(clientNetwork(address))
      const isOver = known !== undefined && now() - known.at < hourMs && known.bytes > limits.unprovenBytesPerHour
      return isOver ? Math.min(usual, limits.smallBytes) : usual
    },
    unproven(address, bytes) {
      const network = clientNetwork(address)
      const known = unproven.get(network)
      if (known !== undefined && now() - known.at < hourMs) known.bytes += bytes
      else unproven.set(network, { at: now(), bytes })
    },
  }
}

/** A client with one IPv6 address has 2^64 of them. */
function clientNetwork(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

// Open connections are kept so that one can be closed: the library gives its listeners a session and no connection.

export type SmtpConnections = {
  readonly attach: (server: SMTPServer) => void
  readonly begin: (session: string, sessionMs: number) => void
  readonly end: (session: string) => void
  readonly hangUp: (session: string, reply: Reply) => void
  /** In the middle of a mail: left alone when we stop. */
  readonly busy: Set<string>
  readonly stop: () => void
  /** A mail is over; when we stop, so is its connection. */
  readonly free: (session: string) => void
}

function createSmtpConnectionRegistry(): SmtpConnections {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const busy = new Set<string>()
  let server: SMTPServer | undefined
  let isStopping = false
  const hangUpConnection: SmtpConnections['hangUp'] = (session, { code, text }) => {
    const line = [...(server?.connections ?? [])].find((each) => each.id === session)
    line?.send(code, text)
    line?.close()
  }
  return {
    attach: (attached) => (server = attached),
    begin: (session, sessionMs) =>
      timers.set(
        session,
        setTimeout(() => hangUpConnection(session, replies.tooLong), sessionMs),
      ),
    end(session) {
      clearTimeout(timers.get(session))
      timers.delete(session)
      busy.delete(session)
    },
    hangUp: hangUpConnection,
    busy,
    stop() {
      isStopping = true
      for (const { id } of server?.connections ?? []) if (!busy.has(id)) hangUpConnection(id, replies.stopping)
    },
    free(session) {
      busy.delete(session)
      // Once its answer is written.
      if (isStopping) setTimeout(() => hangUpConnection(session, replies.stopping), 0)
    },
  }
}
