// A mail server on loopback that keeps what it is handed, and answers as it is told to. What nobody declared it refuses and remembers.
import { createServer, type Server, type Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'

export type TakenMail = { readonly from: string; readonly to: readonly string[]; readonly raw: string }
export type SmtpFault = { readonly at: 'MAIL' | 'RCPT' | 'DATA'; readonly code: number; readonly words: string }

export type SmtpSink = {
  readonly url: string
  readonly mails: readonly TakenMail[]
  readonly unexpected: readonly string[]
  /** It takes the next mail, and hangs up instead of saying so. */
  readonly loseAnswerOnce: () => void
  /** For the next mail only. */
  readonly failOnce: (fault: SmtpFault) => void
  readonly close: () => Promise<void>
}

/** `isRecipient`: whom it takes mail for; any other is unexpected. */
export async function startSmtpSink(
  isRecipient: readonly string[] | ((address: string) => boolean),
): Promise<SmtpSink> {
  const isKnown = typeof isRecipient === 'function' ? isRecipient : (address: string) => isRecipient.includes(address)
  let isSilent = false
  const mails: TakenMail[] = []
  const unexpected: string[] = []
  const faults: SmtpFault[] = []
  const fault = (at: SmtpFault['at']): Error | null => {
    const index = faults.findIndex((each) => each.at === at)
    const [found] = index < 0 ? [] : faults.splice(index, 1)
    return found === undefined ? null : Object.assign(new Error(found.words), { responseCode: found.code })
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    closeTimeout: 50,
    onMailFrom: (_address, _session, done) => done(fault('MAIL')),
    onRcptTo({ address }, _session, done) {
      if (isKnown(address)) return done(fault('RCPT'))
      unexpected.push(`RCPT TO:<${address}>`)
      return done(Object.assign(new Error('nobody here'), { responseCode: 550 }))
    },
    onData(stream, { envelope, id }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      stream.on('end', () => {
        const failure = fault('DATA')
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        if (failure === null) mails.push({ from, to, raw: Buffer.concat(chunks).toString('latin1') })
        if (!isSilent) return done(failure)
        isSilent = false
        return [...server.connections].find((each) => each.id === id)?.close()
      })
    },
  })
  server.on('error', (error: Error) => void unexpected.push(error.message))
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      const at = listening.address()
      resolve(typeof at === 'object' && at !== null ? at.port : 0)
    })
  })
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    unexpected,
    loseAnswerOnce: () => {
      isSilent = true
    },
    failOnce: (each) => void faults.push(each),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** A server that hangs up: before it is asked for anything, before the mail, or when it has the mail and has said nothing yet. */
export async function startHangUp(
  when: 'greeting' | 'mail' | 'data_end',
): Promise<{ readonly url: string; readonly seen: () => number; readonly close: () => Promise<void> }> {
  let mails = 0
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (when === 'greeting') return void socket.destroy()
    socket.write('220 here\r\n')
    let isData = false
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (isData) {
        if (!text.endsWith('\r\n.\r\n')) return
        mails += 1
        return void socket.destroy()
      }
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const verb = text.slice(0, 4).toUpperCase()
        text = text.slice(end + 2)
        if (verb === 'MAIL' && when === 'mail') return void socket.destroy()
        if (verb === 'DATA') {
          isData = true
          socket.write('354 go on\r\n')
        } else socket.write('250 fine\r\n')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = server.address()
  return {
    url: `smtp://127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}`,
    seen: () => mails,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
