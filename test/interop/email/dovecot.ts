// Dovecot from Debian's packages, run on 127.0.0.1 out of a folder of our own.
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../doubles/free-port.ts'
import { testCertificate, testKey } from '../../doubles/test-certificate.ts'
import type { Peer } from '../peer.ts'
import { type DebianFiles, unpackDebian } from './debian.ts'

export type Dovecot = {
  readonly port: number
  readonly securePort: number
  readonly user: string
  readonly password: string
  /** kill -9: every connection is cut. */
  readonly stop: () => Promise<void>
  readonly log: () => string
}

export async function findDovecot(): Promise<Peer<DebianFiles>> {
  return unpackDebian('dovecot', ['dovecot-core', 'dovecot-imapd'], 'usr/sbin/dovecot')
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

export async function startDovecot({ root }: DebianFiles, place: DovecotPlace): Promise<Dovecot> {
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
