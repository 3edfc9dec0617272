// Debian's swaks, a mail client of other authors: it hands a mail in as it is, byte for byte, and tells what the server said.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostOffice } from '../../doubles/mail-relay.ts'
import { unpackDebian } from '../debian.ts'
import { type Peer, provePeer } from '../peer.ts'

const run = promisify(execFile)

/** `folder`: to be put on the PATH of what calls swaks by its name. */
export type Swaks = { readonly command: string; readonly folder: string }

/** It has handed one mail to a server on this machine. */
export async function findSwaks(): Promise<Peer<Swaks>> {
  const files = await unpackDebian('swaks')
  if ('problem' in files) return files
  const folder = files.module.commands
  return provePeer('swaks', { module: { folder, command: join(folder, 'swaks') } }, async (swaks) => {
    const sink = await startPostOffice(async () => {})
    try {
      const mail = 'From: ada@people.example\r\nSubject: smoke\r\n\r\nhello\r\n'
      await swaksSend(swaks, { port: sink.port, from: 'ada@people.example', to: 'desk@agents.example', mail })
      if (!sink.brought[0]?.raw.toString().includes('Subject: smoke')) throw new Error('its mail did not arrive')
    } finally {
      await sink.close()
    }
  })
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
  const folder = await mkdtemp(join(tmpdir(), 'parley-swaks-'))
  try {
    // Nothing is added or changed, since the mail is signed: so the dots are ours, too.
    const data = `${mail.replaceAll(/^\./gm, '..')}${mail.endsWith('\r\n') ? '' : '\r\n'}.`
    await writeFile(join(folder, 'mail'), Buffer.from(data, 'latin1'))
    const whole = ['--no-data-fixup', '--data', `@${join(folder, 'mail')}`, '--helo', 'mail.people.example']
    const { stdout } = await run(
      command,
      ['--server', '127.0.0.1', '--port', String(port), '--from', from, '--to', to, ...whole],
      { timeout: 60_000, maxBuffer: 20_000_000 },
    )
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
