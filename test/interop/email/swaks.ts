// Debian's swaks, a mail client that nobody here wrote: it hands a mail in as it is, byte for byte, and tells what the server said.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Peer } from '../peer.ts'
import { unpackDebian } from './debian.ts'

const run = promisify(execFile)

export type Swaks = { readonly command: readonly [string, ...string[]] }

export async function findSwaks(): Promise<Peer<Swaks>> {
  const files = await unpackDebian('swaks', ['swaks'], 'usr/bin/swaks')
  if ('problem' in files) return files
  const command = ['perl', join(files.module.root, 'usr/bin/swaks')] as const
  try {
    await run(command[0], [command[1], '--version'])
    return { module: { command } }
  } catch {
    return { problem: 'swaks does not run: it needs perl' }
  }
}

export type Handed = {
  readonly port: number
  readonly from: string
  readonly to: string
  /** The mail, one character for each byte, lines ended by CRLF. */
  readonly mail: string
}

/** What was said on the line; throws with it where the mail was not taken. */
export async function swaksSend({ command }: Swaks, { port, from, to, mail }: Handed): Promise<string> {
  const [program, ...first] = command
  const folder = await mkdtemp(join(tmpdir(), 'parley-swaks-'))
  try {
    // Nothing is added or changed, since the mail is signed: so the dots are ours, too.
    const data = `${mail.replaceAll(/^\./gm, '..')}${mail.endsWith('\r\n') ? '' : '\r\n'}.`
    await writeFile(join(folder, 'mail'), Buffer.from(data, 'latin1'))
    const whole = ['--no-data-fixup', '--data', `@${join(folder, 'mail')}`, '--helo', 'mail.people.example']
    const { stdout } = await run(
      program,
      [...first, '--server', '127.0.0.1', '--port', String(port), '--from', from, '--to', to, ...whole],
      { timeout: 60_000, maxBuffer: 20_000_000 },
    )
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
