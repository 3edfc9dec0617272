// Dovecot from Debian's packages, unpacked into a folder of our own and run on 127.0.0.1: nothing is installed. Where it cannot be had,
// the reason is told.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testCertificate, testKey } from '../../doubles/test-certificate.ts'
import type { Peer } from '../peer.ts'

const run = promisify(execFile)
const packages = ['dovecot-core', 'dovecot-imapd'] as const

export type DovecotFiles = { readonly root: string }

export type Dovecot = {
  readonly port: number
  readonly securePort: number
  readonly user: string
  readonly password: string
  /** kill -9: every connection is cut. */
  readonly stop: () => Promise<void>
  readonly log: () => string
}

/** Kept between runs; of two that unpack at the same time the second finds it done. */
export async function findDovecot(): Promise<Peer<DovecotFiles>> {
  const root = join(tmpdir(), 'parley-dovecot-2.3')
  if (existsSync(join(root, 'usr/sbin/dovecot'))) return { module: { root } }
  if (process.platform !== 'linux') return { problem: 'dovecot comes from Debian packages, which are for Linux' }
  const folder = await mkdtemp(join(tmpdir(), 'parley-dovecot-'))
  try {
    await run('apt-get', ['download', ...packages], { cwd: folder, timeout: 120_000 })
    for (const name of (await readdir(folder)).filter((each) => each.endsWith('.deb')))
      await run('dpkg-deb', ['-x', name, 'unpacked'], { cwd: folder })
    // Its processes run as somebody else.
    await chmod(join(folder, 'unpacked'), 0o755)
    await rename(join(folder, 'unpacked'), root).catch(() => {})
    return existsSync(join(root, 'usr/sbin/dovecot')) ? { module: { root } } : { problem: 'dovecot was not unpacked' }
  } catch (error) {
    const text = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it gave no reason'
    return { problem: `dovecot cannot be fetched with apt-get: ${text}` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export type DovecotPlace = { readonly folder: string; readonly port: number; readonly securePort: number }

/** A folder with mail that outlives the server, so that it can be killed and started again. */
export async function newPlace(): Promise<DovecotPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-mailbox-'))
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'mail'))
  if (process.getuid?.() === 0) await chown(join(folder, 'mail'), nobody.uid, nobody.gid)
  return { folder, port: await freePort(), securePort: await freePort() }
}

const nobody = { uid: 65_534, gid: 65_534 }

export async function startDovecot({ root }: DovecotFiles, place: DovecotPlace): Promise<Dovecot> {
  const { folder, port, securePort } = place
  const libraries = join(root, 'usr/lib/dovecot')
  await writeFile(join(folder, 'cert.pem'), testCertificate)
  await writeFile(join(folder, 'key.pem'), testKey)
  await writeFile(join(folder, 'dovecot.conf'), configuration(libraries, place))
  const child = spawn(join(root, 'usr/sbin/dovecot'), ['-F', '-c', join(folder, 'dovecot.conf')], {
    // A process group of its own, so that its end is the end of everything it started.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { LD_LIBRARY_PATH: libraries, PATH: '/usr/bin:/bin' },
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const killAtExit = (): void => void killNow(child)
  process.once('exit', killAtExit)
  const stop = async (): Promise<void> => {
    process.off('exit', killAtExit)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (killNow(child)) await ended
  }
  for (let tries = 0; tries < 200 && child.exitCode === null; tries += 1) {
    if (/starting up/.test(log)) return { port, securePort, user: 'helper', password: 'hunter2', stop, log: () => log }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await stop()
  throw new Error(`dovecot did not come up: ${log}`)
}

function killNow(child: ChildProcess): boolean {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false
  return process.kill(-child.pid, 'SIGKILL')
}

function configuration(libraries: string, { folder, port, securePort }: DovecotPlace): string {
  const { username, uid, gid } = userInfo()
  const isRoot = uid === 0
  const [user, owner] = isRoot ? ['nobody', nobody] : [username, { uid, gid }]
  return `
base_dir = ${folder}/base
libexec_dir = ${libraries}
mail_plugin_dir = ${libraries}/modules
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <${folder}/cert.pem
ssl_key = <${folder}/key.pem
disable_plaintext_auth = no
default_internal_user = ${user}
default_internal_group = ${isRoot ? 'nogroup' : gid}
default_login_user = ${user}
import_environment = LD_LIBRARY_PATH
first_valid_uid = 1
mail_location = maildir:${folder}/mail/%u
mailbox_idle_check_interval = 1 s
passdb {
  driver = static
  args = password=hunter2
}
userdb {
  driver = static
  args = uid=${owner.uid} gid=${owner.gid} home=${folder}/mail/%u
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = ${securePort}
    ssl = yes
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
`
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof bound === 'object' && bound !== null ? bound.port : 0
}
