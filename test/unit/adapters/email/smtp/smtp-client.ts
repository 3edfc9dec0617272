// A raw SMTP client: lines in, lines out, and bytes as they are, so that a test can say what no library would.
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export type SmtpClient = {
  /** The next reply, all its lines; '' when the server has hung up. */
  readonly reply: () => Promise<string>
  readonly write: (bytes: string | Uint8Array) => void
  /** A command and its reply. */
  readonly say: (line: string) => Promise<string>
  /** Several commands, each with its reply. */
  readonly all: (...lines: string[]) => Promise<readonly string[]>
  readonly upgrade: () => Promise<void>
  readonly close: () => void
  readonly socket: () => Socket
}

export async function smtpClient(port: number, from = '127.0.0.1'): Promise<SmtpClient> {
  let socket: Socket = connect({ port, host: '127.0.0.1', localAddress: from })
  let text = ''
  let isOver = false
  let bell = Promise.withResolvers<void>()
  const listen = (to: Socket): void => {
    to.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      bell.resolve()
    })
    for (const event of ['close', 'error'] as const)
      to.on(event, () => {
        isOver = true
        bell.resolve()
      })
  }
  listen(socket)
  const reply = async (): Promise<string> => {
    for (;;) {
      const whole = /^(?:\d{3}-[^\n]*\r\n)*\d{3} [^\n]*\r\n/.exec(text)?.[0]
      if (whole !== undefined) {
        text = text.slice(whole.length)
        return whole.trimEnd()
      }
      if (isOver) return ''
      await bell.promise
      bell = Promise.withResolvers()
    }
  }
  const write = (bytes: string | Uint8Array): void => void socket.write(bytes)
  const say = (line: string): Promise<string> => {
    write(`${line}\r\n`)
    return reply()
  }
  return {
    reply,
    write,
    say,
    async all(...lines) {
      const heard: string[] = []
      for (const line of lines) heard.push(await say(line))
      return heard
    },
    async upgrade() {
      socket.removeAllListeners()
      const secured = connectTls({ socket, rejectUnauthorized: false })
      await new Promise((resolve, reject) => secured.once('secureConnect', resolve).once('error', reject))
      socket = secured
      listen(secured)
    },
    close: () => socket.destroy(),
    socket: () => socket,
  }
}
