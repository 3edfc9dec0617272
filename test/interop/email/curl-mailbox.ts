// A mailbox at Dovecot as curl sees it: puts mails in, lists them, fetches them whole.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { unpackDebian } from '../debian.ts'
import { type Peer, provePeer } from '../peer.ts'

const run = promisify(execFile)

export type CurlMailbox = {
  readonly append: (raw: Buffer) => Promise<void>
  /** Every mail in it, oldest first. */
  readonly fetchAll: () => Promise<readonly Buffer[]>
}

export type Curl = {
  readonly command: string
  /** To be put on the PATH of what calls curl by its name. */
  readonly folder: string
}

/** This machine's curl if it has what is needed, else Debian's. It has logged in to an IMAP server on this machine. */
export async function findCurl(): Promise<Peer<Curl>> {
  const found = await findCurlWithMail()
  return provePeer('curl', found, async ({ command }) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write('* OK ready\r\n')
      socket.on('data', (chunk) => {
        const [tag, verb] = chunk.toString().split(/\s/)
        socket.write(`${verb === 'CAPABILITY' ? '* CAPABILITY IMAP4rev1\r\n' : ''}${tag} OK done\r\n`)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      await run(command, ['-sS', '--max-time', '20', '-u', 'ada:secret', `imap://127.0.0.1:${port}/`, '-X', 'NOOP'])
    } finally {
      server.close()
    }
  })
}

async function findCurlWithMail(): Promise<Peer<Curl>> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const command = join(folder, 'curl')
    const protocols = await run(command, ['--version']).catch(() => undefined)
    if (/\bimap\b.*\bsmtp\b/.test(protocols?.stdout ?? '')) return { module: { command, folder } }
  }
  const files = await unpackDebian('curl')
  if ('problem' in files) return files
  const folder = files.module.commands
  return { module: { command: join(folder, 'curl'), folder } }
}

export function curlMailbox({ command }: Curl, port: number, user: string, password: string): CurlMailbox {
  const inbox = `imap://127.0.0.1:${port}/INBOX`
  const curl = async (...args: readonly string[]): Promise<Buffer> => {
    const options = { encoding: 'buffer', maxBuffer: 20_000_000, timeout: 30_000 } as const
    return (await run(command, ['-sS', '--max-time', '20', '-u', `${user}:${password}`, ...args], options)).stdout
  }
  return {
    async append(raw) {
      // From a file: the server is told the size first.
      const folder = await mkdtemp(join(tmpdir(), 'parley-append-'))
      try {
        await writeFile(join(folder, 'mail'), raw)
        await curl('-T', join(folder, 'mail'), inbox)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
    async fetchAll() {
      const found = (await curl(inbox, '-X', 'SEARCH ALL')).toString('latin1')
      const numbers = /\* SEARCH ([\d ]+)/.exec(found)?.[1]?.trim().split(' ') ?? []
      const mails: Buffer[] = []
      for (const number of numbers) mails.push(await curl(`${inbox};MAILINDEX=${number}`))
      return mails
    },
  }
}
