// A mailbox at Dovecot as curl sees it: puts mails in, lists them, fetches them whole.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type CurlMailbox = {
  readonly append: (raw: Buffer) => Promise<void>
  /** Every mail in it, oldest first. */
  readonly fetchAll: () => Promise<readonly Buffer[]>
}

/** Undefined: it is there, and speaks IMAP. */
export function curlProblem(): string | undefined {
  const { status, stdout } = spawnSync('curl', ['--version'], { encoding: 'utf8' })
  return status === 0 && /\bimap\b/.test(stdout) ? undefined : 'there is no curl that speaks IMAP'
}

export function curlMailbox(port: number, user: string, password: string): CurlMailbox {
  const inbox = `imap://127.0.0.1:${port}/INBOX`
  const curl = async (...args: readonly string[]): Promise<Buffer> => {
    const options = { encoding: 'buffer', maxBuffer: 20_000_000, timeout: 30_000 } as const
    return (await run('curl', ['-sS', '--max-time', '20', '-u', `${user}:${password}`, ...args], options)).stdout
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
