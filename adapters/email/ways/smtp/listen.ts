// The SMTP listener: recipients are judged one by one, the mail is handed in once for all of them, and 250 means that it
// is stored. It relays nothing and has no logins.
import type { SMTPServer, SMTPServerOptions } from 'smtp-server'
import { type Adapter, type IngressContext, importOnNode } from '../../../../src/contract/index.ts'
import { createSmtpClients } from './clients.ts'
import { createByteBudget } from './collect.ts'
import { createSmtpConnections, type SmtpConnections } from './lines.ts'
import { replies, smtpError } from './replies.ts'
import { type SmtpDeps, type SmtpLimits, type SmtpSettings, smtpLimits } from './settings.ts'
import { createTransactions } from './transactions.ts'

/** Sendmail's jokes and the ways to pretend to be another client; AUTH, because there are no accounts here. */
const disabledCommands = ['AUTH', 'XCLIENT', 'XFORWARD', 'VRFY', 'EXPN', 'HELP', 'WIZ', 'SHELL', 'KILL']

export function listenSmtp(settings: SmtpSettings, deps: SmtpDeps): NonNullable<Adapter['listen']> {
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
