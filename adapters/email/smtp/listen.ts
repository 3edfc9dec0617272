// The SMTP listener: recipients are judged one by one, the mail is delivered once for all of them, and 250 means that it is
// stored. It relays nothing and has no logins.
import type { SMTPServer, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { type Ingress, type IngressContext, importOnNode, type ListenResult } from '../../../src/contract/index.ts'
import type { ReceivedMail } from '../wire/mail.ts'
import { type BodyStream, type ByteBudget, collectData, createByteBudget } from './collect-data.ts'
import { createSmtpClients, createSmtpConnections, type SmtpClients, type SmtpConnections } from './connections.ts'
import { answerReply, type Reply, recipientReply, replies, smtpError } from './replies.ts'
import { type SmtpDeps, type SmtpLimits, type SmtpSettings, smtpLimits } from './settings.ts'

/** Sendmail's jokes and the ways to pretend to be another client; AUTH, because there are no accounts here. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'VRFY', 'EXPN', 'HELP', 'WIZ', 'SHELL', 'KILL']

export function listenSmtp(settings: SmtpSettings, deps: SmtpDeps): NonNullable<Ingress['listen']> {
  const limits: SmtpLimits = { ...smtpLimits, ...settings.limits }
  return async (door, signal) => {
    const { SMTPServer: Server } = await importOnNode<typeof import('smtp-server')>('smtp-server')
    const lines = createSmtpConnections()
    const server = new Server(smtpServerOptions(settings, limits, { ...deps, door, lines }))
    lines.attach(server)
    const address = await openSmtpServer(server, settings)
    const stop = runOnce(() => closeSmtpServer(server, lines))
    signal.addEventListener('abort', () => void stop(), { once: true })
    if (signal.aborted) await stop()
    return { address, stop }
  }
}

type ListenerContext = SmtpDeps & { readonly door: IngressContext; readonly lines: SmtpConnections }

function smtpServerOptions({ name, tls }: SmtpSettings, limits: SmtpLimits, means: ListenerContext): SMTPServerOptions {
  const { lines, now, maxBytes } = means
  const clients = createSmtpClients(limits, now)
  const transactions = createTransactions({ ...means, limits, clients, room: createByteBudget(limits.heldBytes) })
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

function runOnce(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

// One mail over one connection: MAIL, RCPT, DATA, and what the client is told in the end.

export type TransactionDeps = SmtpDeps & {
  readonly door: IngressContext
  readonly limits: SmtpLimits
  readonly clients: SmtpClients
  readonly lines: SmtpConnections
  readonly room: ByteBudget
}

type Transactions = Pick<Required<SMTPServerOptions>, 'onMailFrom' | 'onRcptTo' | 'onData'>

const ascii = /^[\x21-\x7e]*$/

function createTransactions(deps: TransactionDeps): Transactions {
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
      void judgeRecipient(deps, session, address).then((reply) => {
        if (reply === undefined) return callback()
        if (clients.refused(session.id) > limits.refusedRecipients) lines.hangUp(session.id, replies.guessing)
        else callback(smtpError(reply))
      })
    },
    onData(stream, session, callback) {
      lines.busy.add(session.id)
      const hangUpLate = (): void => lines.hangUp(session.id, replies.tooLong)
      const late = setTimeout(hangUpLate, limits.dataMs)
      const maxBytes = clients.maxBytes(session.remoteAddress, deps.maxBytes)
      const isCut = maxBytes < deps.maxBytes
      const incompleteReply = (why: keyof typeof incomplete): Reply =>
        why === 'too_large' && isCut ? replies.tooMuch : incomplete[why]
      const onHopeless = (why: keyof typeof incomplete): void => lines.hangUp(session.id, incompleteReply(why))
      // Node's own stream; the portable program does not know its type.
      const body = stream as unknown as BodyStream
      const room = clients.roomFor(session.id, deps.room)
      void collectData(body, { maxBytes, room, onHopeless })
        .finally(() => clearTimeout(late))
        .then((collected) =>
          collected.kind === 'whole'
            ? replyTo({ ...deps, room }, session, collected.raw)
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

async function judgeRecipient(
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
async function replyTo(deps: TransactionDeps, session: SMTPServerSession, raw: Uint8Array): Promise<Reply | undefined> {
  try {
    const answer = await answerInTime(
      deps.door.receive(deps.own.add(receivedMail(deps, session, raw))),
      deps.limits.answerMs,
    )
    if (answer.isUnproven === true) deps.clients.unproven(session.remoteAddress, raw.byteLength)
    return answerReply(answer)
  } catch {
    return replies.later
  } finally {
    deps.room.give(raw.byteLength)
  }
}

function receivedMail({ now }: TransactionDeps, session: SMTPServerSession, raw: Uint8Array): ReceivedMail {
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
async function answerInTime(work: Promise<ListenResult>, limitMs: number): Promise<ListenResult> {
  const late = Promise.withResolvers<ListenResult>()
  const timer = setTimeout(() => late.resolve({ kind: 'later', reason: 'too_slow' }), limitMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
