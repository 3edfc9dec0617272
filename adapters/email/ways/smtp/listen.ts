// The SMTP listener: recipients are judged one by one, the mail is handed in once for all of them, and 250 means that it
// is stored. It relays nothing and has no logins.
import type { SMTPServer, SMTPServerOptions } from 'smtp-server'
import { type Adapter, importOnNode, type ListenDoor } from '../../../../src/contract/index.ts'
import { createClients } from './clients.ts'
import { createRoom } from './collect.ts'
import { createLines, type Lines } from './lines.ts'
import { failure, replies } from './replies.ts'
import { type SmtpDeps, type SmtpLimits, type SmtpSettings, smtpLimits } from './settings.ts'
import { createTransactions } from './transactions.ts'

/** Sendmail's jokes and the ways to pretend to be another client; AUTH, because there are no accounts here. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'VRFY', 'EXPN', 'HELP', 'WIZ', 'SHELL', 'KILL']

export function listenSmtp(settings: SmtpSettings, deps: SmtpDeps): NonNullable<Adapter['listen']> {
  const limits: SmtpLimits = { ...smtpLimits, ...settings.limits }
  return async (door, signal) => {
    const { SMTPServer: Server } = await importOnNode<typeof import('smtp-server')>('smtp-server')
    const lines = createLines()
    const server = new Server(optionsOf(settings, limits, { ...deps, door, lines }))
    lines.attach(server)
    const address = await open(server, settings)
    const stop = once(() => close(server, lines))
    signal.addEventListener('abort', () => void stop(), { once: true })
    if (signal.aborted) await stop()
    return { address, stop }
  }
}

type Means = SmtpDeps & { readonly door: ListenDoor; readonly lines: Lines }

function optionsOf({ name, tls }: SmtpSettings, limits: SmtpLimits, means: Means): SMTPServerOptions {
  const { lines, now, maxBytes } = means
  const clients = createClients(limits, now)
  const transactions = createTransactions({ ...means, limits, clients, room: createRoom(limits.heldBytes) })
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
      if (!clients.enter(session.id, session.remoteAddress)) return callback(failure(replies.tooMany))
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

function open(server: SMTPServer, { host, port }: SmtpSettings): Promise<string> {
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

function close(server: SMTPServer, lines: Lines): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    lines.stop()
  })
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}
