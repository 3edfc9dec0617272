// PgBouncer from Debian's packages, run on 127.0.0.1 from the folder it was unpacked into.
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { freePort } from '../../doubles/free-port.ts'
import { type DebianFiles, unpackDebian } from '../debian.ts'
import type { Peer } from '../peer.ts'
import { endPeer } from '../peer-process.ts'

export type PgBouncer = { readonly url: string; readonly stop: () => Promise<void> }

export function findPgBouncer(): Promise<Peer<DebianFiles>> {
  return unpackDebian('pgbouncer')
}

const nobody = { uid: 65_534, gid: 65_534 }
const startTimeoutMs = 15_000

/** `settings` are lines of its section [pgbouncer]. Any password is let in. */
export async function startPgBouncer(
  { commands }: DebianFiles,
  databaseUrl: string,
  settings: readonly string[],
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await freePort()
  const target = new URL(databaseUrl)
  const name = target.pathname.slice(1)
  const server = `host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}`
  const file = join(folder, 'pgbouncer.ini')
  const own = ['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any']
  await writeFile(
    file,
    ['[databases]', `${name} = ${server} dbname=${name}`, '[pgbouncer]', ...own, ...settings, ''].join('\n'),
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? nobody : {}
  const child = spawn(join(commands, 'pgbouncer'), [file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-2_000)
  })
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) await endPeer(child)
    await rm(folder, { recursive: true, force: true })
  }
  for (const deadline = Date.now() + startTimeoutMs; ; ) {
    const sql = postgres(url.href, { max: 1, fetch_types: false, connect_timeout: 2, onnotice: () => {} })
    try {
      await sql`select 1`
      return { url: url.href, stop }
    } catch (error) {
      if (Date.now() < deadline && child.exitCode === null) continue
      await stop()
      throw new Error(`PgBouncer did not start: ${said.trim() || String(error)}`)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
}
